"""The entity graph: what chunks name, and how a question finds by it what its words do not; and
trees of summaries of long documents."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "The entity graph of what documents name, and trees of summaries.",
    {
        "adapters": {"graph": Extension(f"{__name__}.entity_graph:open_graph")},
        "dialects": {
            "graph": Extension(f"{__name__}.routes:router", "/api/v1/collections/{name}/graph")
        },
        "enrichers": {
            "summaries": Extension(f"{__name__}.summaries.maker:open_maker"),
            "graph": Extension(f"{__name__}.enricher:open_enricher"),
        },
        "services": {"graph": Extension(f"{__name__}.contract:GRAPH")},
        "stages": {
            "add_related": Extension(f"{__name__}.add_related:PLACE"),
            "traverse": Extension(f"{__name__}.summaries.traverse:PLACE"),
        },
        "tools": {"entity_graph": Extension(f"{__name__}.tool:GraphTool")},
        "commands": {
            "graph": Extension(f"{__name__}.commands:app", "Look at a collection's entity graph.")
        },
    },
)
