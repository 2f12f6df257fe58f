"""The dialect chat-core."""
