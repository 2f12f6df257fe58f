"""Finding passages: strategies, fusion, reranking, grading, expansion."""
