"""Signs what is sent to Ragstone."""

import hashlib
import hmac
import time


def signed(secret: str, body: bytes) -> dict[str, str]:
    """The headers of a body: the time in seconds since 1970, and the HMAC-SHA256 of the time, a
    full stop and the body. Ragstone takes each signature once, and only for some minutes."""
    stamp = str(int(time.time()))
    text = stamp.encode() + b"." + body
    digest = hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()
    return {"X-Ragstone-Timestamp": stamp, "X-Ragstone-Signature": f"sha256={digest}"}
