"""An issuer of signed tokens with real keys, which serves its key set over HTTP."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

ISSUER, AUDIENCE = "https://id.example.com", "ragstone"

RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()
STRANGER = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PRIVATE = {"RS256": RSA, "PS256": RSA, "ES256": EC, "EdDSA": ED}


class Issuer:
    """`keys` are served by name; `status` and `body` replace the answer. `asked` counts."""

    def __init__(self) -> None:
        self.keys: dict[str, Any] = {"r": RSA, "e": EC, "d": ED}
        self.more: list[dict[str, Any]] = []
        self.status = 200
        self.body: bytes | None = None
        self.asked = 0
        self.url = ""

    def content(self) -> bytes:
        if self.body is not None:
            return self.body
        return json.dumps({"keys": [jwk(n, k) for n, k in self.keys.items()] + self.more}).encode()


def jwk(name: str, key: Any) -> dict[str, Any]:
    """The public key as a JWK."""
    kinds = {
        rsa.RSAPrivateKey: jwt.algorithms.RSAAlgorithm,
        ec.EllipticCurvePrivateKey: jwt.algorithms.ECAlgorithm,
        ed25519.Ed25519PrivateKey: jwt.algorithms.OKPAlgorithm,
    }
    kind = next(kinds[item] for item in kinds if isinstance(key, item))
    return {**kind.to_jwk(key.public_key(), as_dict=True), "kid": name, "use": "sig"}


def pem(key: Any) -> bytes:
    """The public key as a PEM file, which attackers use as if it were a shared secret."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return bytes(key.public_key().public_bytes(serialization.Encoding.PEM, form))


def claims(**changes: Any) -> dict[str, Any]:
    """Those of a good token; None leaves one out."""
    now = time.time()
    good = {"iss": ISSUER, "aud": AUDIENCE, "sub": "eva", "iat": now, "exp": now + 36_000}
    return {name: value for name, value in {**good, **changes}.items() if value is not None}


def token(name: str | None = "r", algorithm: str = "RS256", key: Any = None, **changes: Any) -> str:
    """A token signed with the issuer's key, or with another."""
    headers = {} if name is None else {"kid": name}
    signing = PRIVATE[algorithm] if key is None else key
    return jwt.encode(claims(**changes), signing, algorithm, headers=headers)


@contextmanager
def issuing() -> Iterator[Issuer]:
    """An issuer on a free port."""
    issuer = Issuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.asked += 1
            content = issuer.content()
            self.send_response(issuer.status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    issuer.url = f"http://127.0.0.1:{server.server_port}/jwks.json"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
