// A certified OpenID Connect provider with its own login form, everything in memory. Any name and any
// password will do. It prints its address, and reads how many seconds its tokens hold, a number a line.
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import Provider from "oidc-provider";

const { audience, secret } = JSON.parse(process.env.PROVIDER);
let seconds = 3600;

const server = createServer();
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const issuer = `http://127.0.0.1:${server.address().port}`;

const client = {
  client_id: "ragstone-web",
  redirect_uris: ["http://127.0.0.1/"],
  grant_types: ["authorization_code"],
  // At a loopback address a native client may come back to any port (RFC 8252).
  application_type: "native",
  token_endpoint_auth_method: secret ? "client_secret_basic" : "none",
  ...(secret ? { client_secret: secret } : {}),
};

const provider = new Provider(issuer, {
  clients: [client],
  pkce: { required: () => true },
  conformIdTokenClaims: false,
  claims: { openid: ["sub"], profile: ["name"], email: ["email"] },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, name: id, email: `${id}@example.com` }) }),
  ttl: { AccessToken: () => seconds, IdToken: () => seconds, Session: 3600, Grant: 3600, Interaction: 600 },
  cookies: { keys: ["of a test"] },
  features: {
    devInteractions: { enabled: true },
    // With an audience access tokens are signed (JWT); without they are names that only it can read.
    resourceIndicators: {
      enabled: Boolean(audience),
      defaultResource: () => audience,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        audience, scope: "profile email", accessTokenFormat: "jwt", accessTokenTTL: seconds,
        jwt: { sign: { alg: "RS256" } },
      }),
    },
  },
});
server.on("request", provider.callback());
createInterface({ input: process.stdin }).on("line", (line) => { seconds = Number(line); }).on("close", () => process.exit(0));
console.log(issuer);
