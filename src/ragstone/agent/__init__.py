"""A chat model that calls tools."""
