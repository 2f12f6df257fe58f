"""Tables of documents as typed tables: questions that count, sum or compare rows become queries."""
