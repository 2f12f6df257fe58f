"""Certificates of servers that nobody else has signed."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def write_certificate(file: Path, *addresses: str) -> Path:
    """Write the key and the certificate of a server at these addresses, 127.0.0.1 if none."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    names = x509.SubjectAlternativeName(
        [x509.IPAddress(ip_address(address)) for address in addresses or ("127.0.0.1",)]
    )
    made = made.not_valid_before(now).not_valid_after(now + timedelta(days=1))
    signed = made.add_extension(names, critical=False).sign(key, hashes.SHA256())
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    file.write_bytes(private + signed.public_bytes(pem))
    return file
