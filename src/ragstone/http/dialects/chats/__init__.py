"""The dialect of chats with documents of their own."""
