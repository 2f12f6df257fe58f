"""What can be asked of sources that collections are kept in sync with: `service.sources`."""

from ragstone.service.added import AddedService
from ragstone.service.sources import SourcesService

SOURCES_PART: AddedService[SourcesService] = AddedService(
    "sources", SourcesService, "ragstone.plugins.sources.service:open_service"
)
