"""Cache, rate limits and prompts of several servers in Redis or Valkey."""

from ragstone.registry import Extension, Plugin

_SERVER = Extension(f"{__name__}.server:RedisServer", "Redis or Valkey", extra="redis")

PLUGIN = Plugin(
    "Cache, rate limits and prompts of several servers in Redis or Valkey.",
    {"shared_servers": {"redis": _SERVER, "rediss": _SERVER, "unix": _SERVER}},
)
