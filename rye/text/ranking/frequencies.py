"""How much each word tells in a search: the table behind :mod:`rye.text.ranking.scoring`. Pure data.

The weights are inverse document frequencies, as BM25 defines them, rounded to halves, of the stems in the names and descriptions
of 941 public skills and agents (eight collections, November 2026). A stem that is not listed was in fewer than six of them
and has the greatest weight. The table is data of one time: only changing it here changes a score.
"""

from __future__ import annotations

from functools import cache

MOST = 5.5
"""The weight of a word that is not in the table."""

_STOP_WORDS = """
a about above after again all also am an and any are as at be been being but by can could did do does doing down each either
else ever every few for from further had has have having he her here hers him his how i if in into is it its itself just let
like may me might more most much must my myself need needs neither no nor not now of off on once one only or other our out
over own per please same shall she should so some someone something such than that the their them then there these they this
those through thus to too under until up us use used uses using very via vs want was we well were what whatever when where
whether which while who whom whose why will with within without would yes yet you your
"""

_BY_WEIGHT = {
    0.5: """
and for
""",
    1.0: """
or the to use when with
""",
    1.5: """
code creat gener in us
""",
    2.0: """
agent analysi ask data file from of on review skill test that thi user
""",
    2.5: """
ai an analyz any api audit base befor best build by context design develop document expert find github guid implement includ
integr is issu mcp model need not optim pattern perform plan practic project prompt provid python report run secur server
specif structur task tool valid work workflow write
""",
    3.0: """
access across action all also app applic architectur as assist autom azur be chang check cli codebas comprehens configur
copilot cover custom detect do engin exist extract featur fix format framework guidanc identifi into it like manag mention
migrat multi new open pipelin produc product protocol qualiti queri react read refer request requir research sdk search set
sourc support system trigger type up updat verifi via visual want you
""",
    3.5: """
about add after appli are assess at batch bug call ci cloud command complet complex complianc compon comput content control
convers convert databas dataset debug decis depend deploi deploy detail diagram dotnet error evalu execut extens first flow
focus follow full function get graph handl help high how if imag improv infrastructur instruct interact json languag learn
level librari llm local make map markdown md memori microsoft mode modern multipl my network no one onli oper other output
page pdf platform power process qdrant question readi refactor repo repositori resourc result risk scale scan scientif setup
should singl someon specialist standard state style target technic templat text then through time toolkit track ui upgrad
version vs vulner web what whenev without your
""",
    4.0: """
ad advanc algorithm alwai annot answer architect attack authent author automat avail aws behavior between branch browser can
capabl case caus cd class cluster comment commit compar compat compil config contain contract convent correct cost coverag
cpp critic cross csharp current decid deep default descript diagnos directli discoveri doc draw driven dure each edg edit
embed enabl end enforc ensur entri environ even everi evid exact experi explor export failur fast fuzz gate gem go googl html
human import index inform input instal interfac investig invok involv iter java javascript js knowledg legaci line list live
log loop machin maintain materi merg messag method metric miss ml modul more name nativ never node object observ offici
option oracl orchestr over packag parallel pars pass path per phase postgresql pre predict prepar prevent priorit profession
program proper public pull react18 real recommend record regress releas remedi remov resolv respons retriev return root rule
runtim rust safe safeti schema scope score script select self sequenc servic session share slow smart softwar solut special
stack static step strategi systemat team techniqu terraform thei their them token trace train transform triag typescript
understand unit usag vector verif where which
""",
    4.5: """
academ act activ actual adapt address adopt against agnost approv ariz artifact assumpt auto avoid awar benchmark bi bicep
blast block blueprint boundari brief builder calcul captur catch cell chain chat citat claud clean client codex common commun
comparison concept confirm connect consist constraint coordin copi core creation creativ creator credenti cryptograph
dashboard definit dev diff differ differenti dimens dimension direct directori discov distribut docx doe domain don draft
drug effect effici email endpoint enterpris etc event exampl experiment explain explicitli exploit expos express extern
feedback field filter fit folder form frame frontend gap gemini gene genom gh git growth gtm guidelin health histori host
http iac impact incid inject instead intellig io its journal judg just layer layout link linux load long look lookup low
manipul match me measur meet metadata minim mistak modifi molecular monitor mutat natur next non note onboard openai organ
own paper paramet persist person planner plu plugin point polici posit post postgr pr precis present preserv principl
privileg pro problem profil progress propos protein prs publish qa quick radiu rate re react19 reason reduc refin relat
relationship relev render replac rewrit right rout sai salesforc sarif scaffold scanner schedul scratch screen screenshot se
secret see semant semgrep show signal similar simpl simul slide so spawn spec spring sql stage start statist statu store
stream string subag suggest suit summar summari surfac syntax tabl taint technolog than think three too touch trail trailmark
translat tree troubleshoot tune turn two upload url valu variabl variant view well whether will window word workload workspac
wrong zero zeroiz
""",
    5.0: """
3d align analyt anim approach arithmet arrai art assembl assert assign async audio auditor auth autonom back backend bad
beyond binari bioinformat bit boot both box brainstorm break breakdown bulk busi candid canva challeng choos claim collabor
collect color combin composit connector consum consumpt continu contribut count csv curat danger datavers declar defin deleg
delet deliver demonstr deprec devop divers done download duplic dynam ecosystem educ electron entiti epic eval excel explicit
fail fetch flowchart formula fp free fuzzer gather goal govern gpu hand hardwar has here hunt hybrid idea ident infer initi
insid inspect instrument isol item keep key kotlin lab label larg latest latex lifecycl limit logic manifest manual media
mermaid mobil must narr neural off origin out overrid owner past patch physic pick pin playwright png poc polish prd
preprocess preview price privat programmat properti pure push pytorch ram rather raw ref region regulatori rest rubi sampl
say scalabl scenario scikit sensit seq side size span spike split storag stori studi submiss subscript synthesi tag tailor
tdd threat top trust unsaf until ux vercel verdict websit whole why wire worker would writer xlsx yml
""",
}


@cache
def stop_words() -> frozenset[str]:
    """Return the words that a query is read without, unless it has no other."""
    return frozenset(_STOP_WORDS.split())


@cache
def _weights() -> dict[str, float]:
    return {word: weight for weight, words in _BY_WEIGHT.items() for word in words.split()}


def weight_of(word: str) -> float:
    """Return how much a stem tells: between 0.5 and :data:`MOST`."""
    return _weights().get(word, MOST)


def is_usual(word: str) -> bool:
    """Whether the stem is in the table."""
    return word in _weights()
