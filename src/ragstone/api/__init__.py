"""The Python API: what `import ragstone` offers, over the one interface in `service`."""
