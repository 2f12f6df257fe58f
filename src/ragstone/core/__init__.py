"""The data of questions, answers, documents and errors: frozen, and nothing else."""
