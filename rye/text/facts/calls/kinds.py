"""What counts as fetched or decoded in a program, in any language, one row each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from rye.text.facts.tables import triggers


class Kind(NamedTuple):
    """What counts as a source. A file without any of ``words`` cannot contain one."""

    pattern: re.Pattern[str]
    words: frozenset[bytes]
    marks: tuple[str, ...] = ()
    """Spellings that contain no word of their own."""
    rare: Mapping[bytes, tuple[str, ...]] = MappingProxyType({})
    """Very common words, each with the spellings of which the text must contain one for it to count."""

    def words_in(self, text: str, words: frozenset[bytes]) -> frozenset[bytes]:
        """The words of a text, whose words these are, that can belong to a source."""
        found = self.words & words
        for word in self.rare.keys() & words:
            if any(mark in text for mark in self.rare[word]):
                found |= {word}
        return found


STARTED: Final = (
    r"(?:subprocess\.\w{2,20}|os\.(?:popen|system)|Popen|popen|check_output|child_process\.\w{4,14}|execSync|execFileSync|execFile|"
    r"spawnSync|spawn|shell_exec|exec|system|run|Command::new|exec\.Command|capture2e?|capture3)"
)
"""Calls that start a program."""
_FETCHERS: Final = r"(?:curl|wget|aria2c|lwp-request|lwp-download|xh|https?)"
OWN_FILE: Final = (
    r"\s*(?:(?:(?P<own>[\"'])\.{1,2}/[\w./@-]{1,200}(?P=own)|[A-Za-z_$][\w$.]{0,60})\s*,\s*)?import\.meta\.url\s*\)"
)
"""The address of the program's own file, or of one beside it: ``new URL("./worker.mjs", import.meta.url)``."""
FETCHED: Final = Kind(
    re.compile(
        r"requests\.(?:get|post|request|Session)|\bsession\.get\(|urlopen\s*\(|urlretrieve\s*\(|httpx\.|"
        r"urllib\d?\.(?!parse|error|robotparser)|aiohttp|"
        r"(?<!async )(?<!function )\bfetch\s*\((?!\s*\))|\baxios\b|\bgot\s*\(|\bhttps?\.(?:get|request)\s*\(|XMLHttpRequest|"
        r"file_get_contents\(\s*[\"']?https?:|"
        r"\bfrom\s+(?:requests|httpx|urllib3?(?:\.request)?|aiohttp)\s+import\b|curl_exec|LWP::|\bNet::HTTP|URI\.open|open\(\s*[\"']https?:|HTTP\.get|HTTParty|Faraday|"
        r"source\(\s*[\"']https?:|"
        r"\bget\(\s*[\"']https?:|\.recv\(|import\(\s*[\"']https?:|download\.file\(|require\(\s*[\"']https?:|"
        r"WebClient|(?<!runtime\.)(?<!extension\.)getURL|include(?:_once)?\s*\(?\s*[\"']https?:|"
        rf"\b{STARTED}(?:list)?\(\s*[\[{{]?\s*[rf]?[\"'`](?:\|\s?)?(?:sudo\s)?{_FETCHERS}\b|\bopen\(\s*[\"']\|(?=[\"']|\s?{_FETCHERS}\b)|(?:%x|\bqx)[({{\[/|]\s?{_FETCHERS}\b|[=(]\s?`{_FETCHERS}\s|"
        r"HTTPS?Connection\(|\.getresponse\(|\bpycurl\b|PoolManager\(|\bundici\b|\bsuperagent\b|\bneedle(?:\.(?:get|post|put|patch|head|delete|request|stream))?\(|\bky\.get|new\s+WebSocket\(|"
        r"new\s+EventSource\(|ftplib|create_connection\(|\bnet\.(?:connect|createConnection|Socket)\b|\btls\.connect\(|"
        r"resolveTxt\(|dns\.resolver|\.resolve\([^()\n]{1,80},\s?[\"']TXT|HTTP::Tiny|WWW::Mechanize|fsockopen\(|stream_socket_client\(|"
        r"\w:receive\(|TCPSocket\.|IO::Socket|\bhttp\.Get\(|HttpClient\b|\bsocket\.http|readLines\(\s*(?:url\(\s*)?[\"']https?:|\burl\(\s*[\"']https?:|"
        rf"\bnew\s+(?:java\.net\.)?UR[LI]\((?!{OWN_FILE})|"
        r"\bopenStream\(|HttpURLConnection|\breqwest::|\bureq::|:httpc\b|\bURLSession\b|\bDownloads\.download\(|MSXML2|WinHttpRequest|XMLHTTP|DownloadString|DownloadData|Invoke-(?:WebRequest|RestMethod)|\bremotes::|\bimaplib|\bpaste\.get|"
        # connections that bring messages, and ledgers that anybody can read
        r"\bio(?:\.connect)?\(\s*[\"'`](?:https?|wss?):|\bsocketio\.|\bwebsockets?\.(?:connect|create_connection|WebSocketApp)|\bsignalR\b|\bHubConnectionBuilder\b|"
        r"\b(?:amqp|mqtt)\.connect\(|\bredis\.(?:Redis|StrictRedis|from_url|createClient)\(|\bMongoClient\(|\bpsycopg2?\.connect\(|\bpymysql\.connect\(|"
        r"\bTelegraf\(|\bTelegramClient\(|\bnew\s+Pusher\(|\bgetSignaturesForAddress\(|\bJsonRpcProvider\(|\bWeb3\(|\bethers\.Contract\(|\bvim\.net\.request\(|\bztcp\s|"
        r"\w\(\s*[\"'`]wss?://|\bopen_connection\(|\b(?:Tcp|Udp)Client\b|\burl-(?:retrieve|copy-file|insert-file)|\bdrakma:|\bdex:get\b|\bcurl_easy_perform\b|\bCURLOPT_URL\b|"
        # what an error of a request brings, and further libraries
        r"\b\w{1,40}\.response\.(?:data|body|text)\b|\bexcept\s+(?:[\w.]{1,40}\.)?(?:HTTPError|HTTPStatusError|URLError)\s+as\b|"
        r"\bwget\.download\(|\bgdown\.|\btreq\.|\bRoboBrowser\b|\bxmlrpc\.client\b|\bServerProxy\(|\bpoplib\b|\bsmb\w{0,12}\.open|\bparamiko\b|\bfabric\.|\btelnetlib\b|"
        r"\.b[lr]pop\(|\bfeedparser\.parse\(|\bKafkaConsumer\(|\bmqtt\.Client\(|\bzmq\.|\bpika\.|\bTeleBot\(|\bdiscord\.Client\(|"
        r"\bget_object\(|\bdownload_fileobj\(|\bdownload_file\(|\bfetchSync\(|\bnode-fetch\b|\bphin\(|\bbent\(|\brequest\(\s*[\"'{]|(?<![#.\w])\$\.(?:get|ajax|getJSON)\(|"
        r"\bcopy\(\s*[\"']https?:|\bfopen\(\s*[\"']https?:|\bcurl_init\(|\bGuzzle|\bgetstore\(|\bREST::Client|\bMojo::UserAgent|\bopen-uri\b|\bopen_uri\b|\bExcon\.|\bRestClient\.|\bTyphoeus\.|"
        r"\bClient::new\(\)\.get|\bisahc::|\bcurl::easy|\battohttpc::|\bnet\.Dial\(|\bnet\.LookupTXT\(|\bresty\.|\bHttpRequest\.newBuilder|\bOkHttpClient\b|\bJsoup\.connect|\bRestTemplate\b|"
        r"\bhttpGet\(|\bURL\([^()\n]{1,80}\)\.(?:readText|readBytes|text|getText)|\.toURL\(\)\.(?:text|openStream)|\bHTTPoison\.|\bReq\.get|\bFinch\.|\bslurp\s+[\"']https?:|\bClient\(\)\.getContent|"
        r"\bDns\.(?:Query|Resolve|GetTxt)|\bResolve-DnsName\b|\bdns_get_record\(|\bdnspython\b|\bgetaddrinfo\b.{0,40}TXT|\bLoadXml\b|\bStart-BitsTransfer\b|\bGetStringAsync\(|\bGetByteArrayAsync\(|\bDownloadStringAsync\(|\bGetAsync\(|"
        # further languages, what a name server answers, awk's own connections, and infrastructure that is described
        r"\b(?:Data|String)\(contentsOf:\s*(?:URL\(string:|\w{0,20}[uU][rR][lL]\b)|\bnewHttpClient\(|\b[dD]ownloadFile\(|\b(?:simpleHTTP|httpLBS|httpBS)\b|"
        r"\bCohttp\w{0,20}|\bSource\.fromURL\(|\bhttp::geturl\b|\bhttpc:request\(|\bdownload\(\s*[\"']https?:|\bcurl_download\(|\bhttr2?::|\bTFPHTTPClient\b|\bURLDownloadToFile[AW]?\b|\bInternetOpenUrl[AW]?\b|"
        r"\bWinHttpOpen\b|\bstd\.http\.Client\b|\bstd\.net\.curl\b|\bHTTP::Client\b|\bget-pure-port\b|"
        r"\bgetaddrinfo\(|\bgethostbyname\w{0,3}\(|\bdns\.(?:promises\.)?(?:resolve\w{0,6}|lookup)\(|\bnet\.Lookup\w{2,6}\(|"
        r"ctx\.download\w{0,12}\(|/inet\d?/(?:tcp|udp)/|\bdata\s+\"http\"|\bdata\.http\.|\blookup\(\s*[\"'](?:ansible\.builtin\.)?url[\"']",
    ),
    triggers(
        "requests session urlopen urlretrieve httpx urllib urllib2 urllib3 aiohttp fetch axios got https http "
        "xmlhttprequest curl_exec file_get_contents lwp uri httparty faraday recv webclient geturl curl wget "
        "httpconnection httpsconnection getresponse pycurl poolmanager undici superagent needle ky websocket eventsource ftplib "
        "create_connection net tls resolvetxt resolver resolve mechanize receive fsockopen stream_socket_client tcpsocket "
        "httpclient openstream httpurlconnection reqwest ureq httpc urlsession downloads msxml2 winhttprequest winhttp "
        "xmlhttp socket readlines url downloadstring downloaddata webrequest restmethod aria2c lwp_request "
        "imaplib response httperror httpstatuserror urlerror gdown treq xmlrpc serverproxy poplib paramiko fabric "
        "telnetlib get_object download_fileobj "
        "download_file gist fetchsync phin bent ajax getjson curl_init guzzle guzzlehttp getstore mojo open_uri excon "
        "restclient typhoeus isahc attohttpc dial lookuptxt resty httprequest okhttpclient jsoup resttemplate httpget "
        "tourl httpoison "
        "finch slurp dnsname dns_get_record bitstransfer getstringasync getbytearrayasync getasync readtext "
        "open_connection tcpclient udpclient drakma dex curl_easy_perform curlopt_url system popen execsync open "
        "socketio websockets signalr hubconnectionbuilder amqp redis mongoclient "
        "psycopg2 psycopg pymysql telegraf "
        "telegramclient pusher getsignaturesforaddress jsonrpcprovider web3 ethers vim ztcp "
        "readbytes blpop brpop feedparser kafkaconsumer mqtt zmq pika telebot discord "
        "contentsof newhttpclient downloadfile simplehttp httplbs httpbs cohttp fromurl curl_download httr httr2 "
        "tfphttpclient "
        "urldownloadtofile urldownloadtofilea urldownloadtofilew internetopenurl internetopenurla internetopenurlw winhttpopen "
        "getaddrinfo gethostbyname gethostbyname_ex lookuphost lookupip lookupaddr dns ctx rctx repository_ctx"
    ),
    ("io(", "io.connect(", "ws://", "wss://"),
    {
        b"inet": ("/inet/",),
        b"data": ('data "http"', "data.http."),
        b"lookup": ("lookup('", 'lookup("'),
        b"std": ("std.http.Client", "std.net.curl"),
        b"pure": ("get-pure-port",),
        b"download": ('download("http', "download('http"),
    },
)
DECODED: Final = Kind(
    re.compile(
        r"\b\w*(?:b64|b32|b16|b85|a85)decode|\bfromhex\b|unhexlify|a2b_(?:base64|hex)|(?:zlib|gzip|bz2|lzma|"
        r"brotli|zstd)\.decompress|(?:gzip|bz2|lzma)\.open|"
        r"codecs\.decode|marshal\.loads?\b|rot_?13|\batob\b|Buffer\.from\([^)\n]{0,400},\s*[\"'](?:base64|hex|base64url)|"
        r"fromCharCode|\bunescape\s*\(|decodeURIComponent(?=\s*[()])|(?:gunzip|inflate|brotliDecompress|unzip)(?:Raw)?Sync|"
        r"decode64|decodebytes|"
        r"unpack1?[\s(]\s*[\"'][mHu]|decode_base64|base64_decode|gzinflate|gzuncompress|hex2bin|pack\(\s*[\"']H|"
        r"decode\(\s*[\"'](?:hex|base64|rot13|zlib)|join\([^)\n]{0,80}chr\b|map\(\s*chr\b|bytes\(\s*\[\s*\d|"
        r"\bget(?:(?:incremental)?decoder|reader)\(|\bcodecs\.lookup\(|\bdecompressobj\b|LZMADecompressor|BZ2Decompressor|\bquopri\b|\buu\.decode|\bFernet\(|\.decryptor\(|"
        r"\bAES\.new\(|\bARC4\.new\(|\bcreateDecipher(?:iv)?\(|\bsubtle\.decrypt\(|CryptoJS\.\w{2,12}\.decrypt|\bSecretBox\(|\bmaketrans\(|\.translate\(\s*(?:str\.)?\w*[tT]able|"
        r"\bstrrev\(|\bconvert_uudecode\(|\bgzdecode\(|\bstr_rot13\(|\bopenssl_decrypt\(|\bsodium_crypto_\w{3,30}_open\(|\bZlib::|\.tr\(\s*[\"'][A-Za-z]-|\btr/[A-Za-z]|"
        r"DecodeString\(|\bbase64::|\bhex::decode|\bFromBase64String\b|\bFromHexString\b|\bUncompress\(|\bgzip\.NewReader|\bzlib\.NewReader|GZIPInputStream|InflaterInputStream|DeflateStream|GZipStream|"
        r"\bBase64\.(?:decode|url_decode|decode64)\b|\bPako\.|\bpako\.|\bLZString\.|\bfflate\.|\bDecompressionStream\(|\bsetpassword\(|,\s?pwd\s?=|\bpyzipper\b|\bpy7zr\b|\bUint8Array(?:\.(?:from|of))?\(\s*\[?\s*\d|\[array\]::[rR]everse|-bxor\b|fromBase64\(|\bfromHex\(|"
        r"data:[\w/+.-]{1,40};base64,|Base64\.getDecoder|"
        # letters by their numbers, letters that nobody sees, and what pictures and sounds hold
        r"\bintToUtf8\(|\brawToChar\(|\bchartr\(|\bstring\.char\(|\bString\(\s*UInt8\[|"
        r"\b[nN]ew [sS]tring\(\s*(?:new (?:byte|char|int)|\(\w)|\bGetString\(\s*new byte|"
        r"\bstring\(\[\](?:byte|rune)\{|\bbyteArrayOf\(|\bString\(bytes:|\bList\.to_string\(\s*\[|\.pack\(\s*[\"'][cCU]\*|\bChrW?\(\s*\d{2,3}\s*\)\s*&|"
        r"0x(?:[fF][eE]00|[eE]01[0-9a-fA-F]{2}|200[bBcCdD])\b|\\u200[bcdBCD]|\bbase64(?:gunzip|decode)\b|\bb64dec(?:ode)?\b|\by/[A-Za-z]|"
        r"\.getpixel\(|\.getdata\(\)|\bgetImageData\(|\blsb\.reveal\(|\bstegano\b|\.readframes\(|\bImageIO\.read\(|"
        r"\[::-1\]|\.reverse\(\)\s*\.join|(?:\\x[0-9a-f]{2}){4}|(?:\\0?[0-3][0-7]{2}){4}",
    ),
    triggers(
        "b64decode urlsafe_b64decode standard_b64decode b32decode b16decode b85decode a85decode fromhex unhexlify "
        "a2b_base64 a2b_hex gzip bz2 lzma decompress codecs marshal rot13 rot_13 atob buffer fromcharcode unescape "
        "decodeuricomponent gunzipsync inflatesync inflaterawsync brotlidecompresssync decode64 strict_decode64 "
        "urlsafe_decode64 decodebytes unpack unpack1 decode_base64 base64_decode gzinflate gzuncompress hex2bin "
        "str_rot13 pack decode chr bytes base64 reverse unzipsync getdecoder getreader getincrementaldecoder "
        "decompressobj lzmadecompressor "
        "bz2decompressor quopri fernet decryptor aes arc4 createdecipheriv createdecipher decrypt secretbox maketrans strrev "
        "convert_uudecode gzdecode openssl_decrypt zlib tr decodestring hex frombase64string fromhexstring uncompress newreader "
        "gzipinputstream inflaterinputstream deflatestream gzipstream pako lzstring fflate decompressionstream frombase64 "
        "sodium_crypto_secretbox_open setpassword pwd pyzipper py7zr uint8array array bxor "
        "inttoutf8 rawtochar chartr getstring bytearrayof chrw "
        "0xfe00 0xe0100 0xe01ef 0x200b 0x200c 0x200d u200b u200c u200d base64decode base64gunzip b64dec getpixel "
        "getdata getimagedata lsb stegano "
        "readframes imageio"
    ),
    ("\\x", "[::-1]", "\\0", "\\1"),
    {
        b"string": ("tring(", "string.char("),
        b"to_string": ("to_string([",),
        b"y": (" y/",),
    },
)
