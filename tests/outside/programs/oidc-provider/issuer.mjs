// An issuer of oidc-provider for one test: prints its address, and reads who is in which groups from the file that it is given.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import Provider from "oidc-provider";

const [, , people, callback] = process.argv;
const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: "rye",
        client_secret: "sesame-open-sesame-open-sesame-open",
        redirect_uris: [callback],
        response_types: ["code"],
        grant_types: ["authorization_code"],
      },
    ],
    scopes: ["openid", "profile", "groups"],
    claims: { openid: ["sub"], profile: ["preferred_username"], groups: ["groups"] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => ({ sub: id, preferred_username: id, ...JSON.parse(readFileSync(people, "utf8"))[id] }),
    }),
  });
  server.on("request", provider.callback());
  console.log(issuer);
});
