"""Optional parts of Ragstone: each folder is a plugin that can be taken away or switched off."""
