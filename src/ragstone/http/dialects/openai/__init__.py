"""The dialect of OpenAI's API."""
