CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
CREATE TABLE collections (
	tenant TEXT NOT NULL, 
	id TEXT NOT NULL, 
	model TEXT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	dimensions INTEGER NOT NULL, 
	language TEXT NOT NULL, 
	build INTEGER NOT NULL, name TEXT DEFAULT '' NOT NULL, late INTEGER DEFAULT '0' NOT NULL, place TEXT DEFAULT '' NOT NULL, shared BOOLEAN DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_collections PRIMARY KEY (tenant, id)
);
CREATE TABLE documents (
	id TEXT NOT NULL, 
	tenant TEXT NOT NULL, 
	collection TEXT NOT NULL, 
	path TEXT NOT NULL, 
	title TEXT NOT NULL, 
	media_type TEXT NOT NULL, 
	content_hash TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	allowed JSON NOT NULL, 
	metadata JSON, 
	status TEXT NOT NULL, 
	error TEXT NOT NULL, 
	source TEXT NOT NULL, 
	size BIGINT NOT NULL, 
	modified DOUBLE NOT NULL, 
	chunks INTEGER NOT NULL, 
	pages INTEGER NOT NULL, own_readers JSON DEFAULT '[]' NOT NULL, readers_fixed BOOLEAN DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_documents PRIMARY KEY (id), 
	CONSTRAINT fk_documents_collections FOREIGN KEY(tenant, collection) REFERENCES collections (tenant, id) ON DELETE CASCADE
);
CREATE INDEX ix_documents_tenant_collection_path ON documents (tenant, collection, path);
CREATE TABLE revisions (
	name TEXT NOT NULL, 
	document_id TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	tenant TEXT NOT NULL, 
	collection TEXT NOT NULL, 
	state TEXT NOT NULL, 
	CONSTRAINT pk_revisions PRIMARY KEY (name), 
	CONSTRAINT fk_revisions_collections FOREIGN KEY(tenant, collection) REFERENCES collections (tenant, id) ON DELETE CASCADE
);
CREATE INDEX ix_revisions_document_id ON revisions (document_id);
CREATE INDEX ix_revisions_state ON revisions (state);
CREATE INDEX ix_revisions_tenant_collection ON revisions (tenant, collection);
CREATE TABLE versions (
	document_id TEXT NOT NULL, 
	last INTEGER NOT NULL, 
	CONSTRAINT pk_versions PRIMARY KEY (document_id)
);
CREATE TABLE settings (
	scope TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	value JSON NOT NULL, 
	updated_at DOUBLE NOT NULL, 
	CONSTRAINT pk_settings PRIMARY KEY (scope, "key")
);
CREATE TABLE jobs (
	id TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	request JSON NOT NULL, 
	progress JSON NOT NULL, 
	state TEXT NOT NULL, 
	error TEXT NOT NULL, 
	created_at DOUBLE NOT NULL, 
	updated_at DOUBLE NOT NULL, tenant TEXT DEFAULT 'default' NOT NULL, user TEXT DEFAULT 'local' NOT NULL, groups JSON DEFAULT '[]' NOT NULL, collection TEXT DEFAULT '' NOT NULL, priority INTEGER DEFAULT '0' NOT NULL, attempts INTEGER DEFAULT '0' NOT NULL, failures INTEGER DEFAULT '0' NOT NULL, deaths INTEGER DEFAULT '0' NOT NULL, worker TEXT DEFAULT '' NOT NULL, due_at DOUBLE DEFAULT '0' NOT NULL, code TEXT DEFAULT '' NOT NULL, result JSON, expires_at DOUBLE, part_of TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_jobs PRIMARY KEY (id)
);
CREATE INDEX ix_jobs_state ON jobs (state);
CREATE TABLE vocabulary (
	tenant TEXT NOT NULL, 
	collection TEXT NOT NULL, 
	word TEXT NOT NULL, 
	CONSTRAINT pk_vocabulary PRIMARY KEY (tenant, collection, word), 
	CONSTRAINT fk_vocabulary_collections FOREIGN KEY(tenant, collection) REFERENCES collections (tenant, id) ON DELETE CASCADE
)
 WITHOUT ROWID

;
CREATE TABLE vocabulary_read (
	tenant TEXT NOT NULL, 
	collection TEXT NOT NULL, 
	revision TEXT NOT NULL, 
	CONSTRAINT pk_vocabulary_read PRIMARY KEY (tenant, collection, revision), 
	CONSTRAINT fk_vocabulary_read_collections FOREIGN KEY(tenant, collection) REFERENCES collections (tenant, id) ON DELETE CASCADE
)
 WITHOUT ROWID

;
CREATE TABLE topics (
	id TEXT NOT NULL, 
	tenant TEXT NOT NULL, 
	term TEXT NOT NULL, 
	synonyms JSON NOT NULL, 
	examples JSON NOT NULL, 
	language TEXT NOT NULL, 
	note TEXT NOT NULL, 
	CONSTRAINT pk_topics PRIMARY KEY (id)
);
CREATE INDEX ix_topics_tenant ON topics (tenant);
CREATE TABLE topic_vectors (
	topic_id TEXT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	vectors BLOB NOT NULL, 
	CONSTRAINT pk_topic_vectors PRIMARY KEY (topic_id, fingerprint), 
	CONSTRAINT fk_topic_vectors_topics FOREIGN KEY(topic_id) REFERENCES topics (id) ON DELETE CASCADE
);
CREATE TABLE blocked_questions (
	id INTEGER NOT NULL, 
	at DOUBLE NOT NULL, 
	tenant TEXT NOT NULL, 
	user TEXT NOT NULL, 
	question TEXT NOT NULL, 
	topic_id TEXT NOT NULL, 
	term TEXT NOT NULL, 
	"match" TEXT NOT NULL, 
	score DOUBLE NOT NULL, 
	decided_by TEXT NOT NULL, user_id TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_blocked_questions PRIMARY KEY (id)
);
CREATE INDEX ix_blocked_questions_tenant_id ON blocked_questions (tenant, id);
CREATE INDEX ix_blocked_questions_at ON blocked_questions (at);
CREATE TABLE strategies (
	day DATE NOT NULL, 
	tenant TEXT NOT NULL, 
	strategy TEXT NOT NULL, 
	executions BIGINT NOT NULL, 
	seconds DOUBLE NOT NULL, 
	rated BIGINT NOT NULL, 
	confidence DOUBLE NOT NULL, 
	CONSTRAINT pk_strategies PRIMARY KEY (day, tenant, strategy)
);
CREATE TABLE rooms (
	tenant TEXT NOT NULL, 
	user TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	room TEXT NOT NULL, 
	title TEXT NOT NULL, 
	turns INTEGER NOT NULL, 
	errors INTEGER NOT NULL, 
	created_at DOUBLE NOT NULL, 
	updated_at DOUBLE NOT NULL, 
	CONSTRAINT pk_rooms PRIMARY KEY (tenant, user, user_id, room)
);
CREATE INDEX ix_rooms_tenant_user_updated_at ON rooms (tenant, user, updated_at);
CREATE TABLE room_leases (
	tenant TEXT NOT NULL, 
	user TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	room TEXT NOT NULL, 
	holder TEXT NOT NULL, 
	beat BIGINT NOT NULL, 
	CONSTRAINT pk_room_leases PRIMARY KEY (tenant, user, user_id, room)
);
CREATE TABLE turns (
	id INTEGER NOT NULL, 
	tenant TEXT NOT NULL, 
	user TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	room TEXT NOT NULL, 
	chat_id TEXT NOT NULL, 
	search_type TEXT NOT NULL, 
	status TEXT NOT NULL, 
	is_tool_block BOOLEAN NOT NULL, 
	is_error BOOLEAN NOT NULL, 
	tokens BIGINT NOT NULL, 
	at DOUBLE NOT NULL, 
	conversations TEXT NOT NULL, 
	block_classes TEXT NOT NULL, 
	result TEXT NOT NULL, 
	notes TEXT NOT NULL, origin TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_turns PRIMARY KEY (id), 
	CONSTRAINT fk_turns_rooms FOREIGN KEY(tenant, user, user_id, room) REFERENCES rooms (tenant, user, user_id, room) ON DELETE CASCADE
);
CREATE INDEX ix_turns_tenant_user_user_id_room_id ON turns (tenant, user, user_id, room, id);
CREATE INDEX ix_turns_tenant_user_user_id_room_status ON turns (tenant, user, user_id, room, status);
CREATE TABLE turn_classes (
	tenant TEXT NOT NULL, 
	user TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	room TEXT NOT NULL, 
	value TEXT NOT NULL, 
	turn_id BIGINT NOT NULL, 
	CONSTRAINT pk_turn_classes PRIMARY KEY (tenant, user, user_id, room, value, turn_id), 
	CONSTRAINT fk_turn_classes_turns FOREIGN KEY(turn_id) REFERENCES turns (id) ON DELETE CASCADE
)
 WITHOUT ROWID

;
CREATE INDEX ix_turn_classes_turn_id ON turn_classes (turn_id);
CREATE TABLE "statistics" (
	day DATE NOT NULL, 
	tenant TEXT NOT NULL, 
	user TEXT NOT NULL, 
	room TEXT NOT NULL, 
	model TEXT NOT NULL, 
	questions BIGINT NOT NULL, 
	refused BIGINT NOT NULL, 
	prompt_tokens BIGINT NOT NULL, 
	completion_tokens BIGINT NOT NULL, 
	cost DOUBLE NOT NULL, 
	blocked BIGINT DEFAULT '0' NOT NULL, 
	user_id TEXT DEFAULT '' NOT NULL, 
	search_type TEXT DEFAULT 'rag' NOT NULL, 
	CONSTRAINT pk_statistics PRIMARY KEY (day, tenant, user, user_id, room, search_type, model)
);
CREATE TABLE settings_log (
	id INTEGER NOT NULL, 
	at DOUBLE NOT NULL, 
	who TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	action TEXT NOT NULL, 
	old JSON, 
	new JSON, 
	CONSTRAINT pk_settings_log PRIMARY KEY (id)
);
CREATE INDEX ix_settings_log_key ON settings_log ("key");
CREATE TABLE marks (
	name TEXT NOT NULL, 
	mark BIGINT NOT NULL, 
	CONSTRAINT pk_marks PRIMARY KEY (name)
);
CREATE TABLE prompts (
	tenant TEXT NOT NULL, 
	name TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	updated_at DOUBLE NOT NULL, 
	who TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_prompts PRIMARY KEY (tenant, name, version)
);
CREATE INDEX ix_jobs_kind_state_priority_created_at ON jobs (kind, state, priority, created_at);
CREATE INDEX ix_jobs_tenant_created_at ON jobs (tenant, created_at);
CREATE INDEX ix_jobs_expires_at ON jobs (expires_at);
CREATE TABLE job_workers (
	id TEXT NOT NULL, 
	host TEXT NOT NULL, 
	beat BIGINT NOT NULL, 
	CONSTRAINT pk_job_workers PRIMARY KEY (id)
);
CREATE TABLE job_kinds (
	kind TEXT NOT NULL, 
	paused BOOLEAN NOT NULL, 
	CONSTRAINT pk_job_kinds PRIMARY KEY (kind)
);
CREATE TABLE editions (
	tenant TEXT NOT NULL, 
	collection TEXT NOT NULL, 
	number BIGINT NOT NULL, 
	CONSTRAINT pk_editions PRIMARY KEY (tenant, collection), 
	CONSTRAINT fk_editions_collections FOREIGN KEY(tenant, collection) REFERENCES collections (tenant, id) ON DELETE CASCADE
);
CREATE TABLE readers (
	tenant TEXT NOT NULL, 
	collection TEXT NOT NULL, 
	name TEXT NOT NULL, 
	since BIGINT NOT NULL, 
	CONSTRAINT pk_readers PRIMARY KEY (tenant, collection, name), 
	CONSTRAINT fk_readers_collections FOREIGN KEY(tenant, collection) REFERENCES collections (tenant, id) ON DELETE CASCADE
);
CREATE TABLE counters (
	name TEXT NOT NULL, 
	value BIGINT NOT NULL, 
	CONSTRAINT pk_counters PRIMARY KEY (name)
);
CREATE TABLE api_keys (
	id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	tenant TEXT NOT NULL, 
	user TEXT NOT NULL, 
	groups JSON NOT NULL, 
	collections JSON, 
	role TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	old_digest TEXT NOT NULL, 
	old_until DOUBLE NOT NULL, 
	created_at DOUBLE NOT NULL, 
	expires_at DOUBLE, 
	used_at DOUBLE, 
	revoked_at DOUBLE, sites JSON, 
	CONSTRAINT pk_api_keys PRIMARY KEY (id)
);
CREATE INDEX ix_api_keys_tenant ON api_keys (tenant);
CREATE TABLE traces (
	id TEXT NOT NULL, 
	at DOUBLE NOT NULL, 
	tenant TEXT NOT NULL, 
	user TEXT NOT NULL, 
	request TEXT NOT NULL, 
	trace TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	room TEXT NOT NULL, 
	collection TEXT NOT NULL, 
	level TEXT NOT NULL, 
	strategy TEXT NOT NULL, 
	intent TEXT NOT NULL, 
	question TEXT NOT NULL, 
	model TEXT NOT NULL, 
	finish TEXT NOT NULL, 
	error TEXT NOT NULL, 
	cached TEXT NOT NULL, 
	seconds DOUBLE NOT NULL, 
	prompt_tokens BIGINT NOT NULL, 
	completion_tokens BIGINT NOT NULL, 
	cost DOUBLE, 
	confidence DOUBLE, 
	stages JSON NOT NULL, origin TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_traces PRIMARY KEY (id)
);
CREATE INDEX ix_traces_tenant_at ON traces (tenant, at);
CREATE INDEX ix_traces_at ON traces (at);
CREATE TABLE done_once (
	"key" TEXT NOT NULL, 
	at DOUBLE NOT NULL, 
	CONSTRAINT pk_done_once PRIMARY KEY ("key")
);
CREATE INDEX ix_done_once_at ON done_once (at);
CREATE UNIQUE INDEX ix_collections_tenant_name ON collections (tenant, name);
CREATE TABLE awaited_collections (
	tenant TEXT NOT NULL, 
	name TEXT NOT NULL, 
	id TEXT NOT NULL, 
	CONSTRAINT pk_awaited_collections PRIMARY KEY (tenant, name)
);
CREATE INDEX ix_turns_tenant_user_user_id_room_origin ON turns (tenant, user, user_id, room, origin);
CREATE INDEX ix_traces_tenant_origin ON traces (tenant, origin);
CREATE TABLE feedback (
	tenant TEXT NOT NULL, 
	user TEXT NOT NULL, 
	answer_id TEXT NOT NULL, 
	thumb TEXT NOT NULL, 
	comment TEXT NOT NULL, 
	question TEXT NOT NULL, 
	answer TEXT NOT NULL, 
	collection TEXT NOT NULL, 
	at DOUBLE NOT NULL, 
	CONSTRAINT pk_feedback PRIMARY KEY (tenant, user, answer_id)
);
CREATE INDEX ix_feedback_tenant_at ON feedback (tenant, at);
CREATE INDEX ix_documents_tenant_collection_content_hash ON documents (tenant, collection, content_hash);
CREATE INDEX ix_documents_counts ON documents (tenant, collection, status, version, allowed, chunks);
CREATE TABLE looks (
	document_id TEXT NOT NULL, 
	size BIGINT NOT NULL, 
	modified DOUBLE NOT NULL, 
	said TEXT NOT NULL, 
	included JSON NOT NULL, 
	CONSTRAINT pk_looks PRIMARY KEY (document_id), 
	CONSTRAINT fk_looks_documents FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE
);
CREATE TABLE question_sets (
	id TEXT NOT NULL, 
	tenant TEXT NOT NULL, 
	user TEXT NOT NULL, 
	collection TEXT NOT NULL, 
	name TEXT NOT NULL, 
	size INTEGER NOT NULL, 
	changed_at DOUBLE NOT NULL, 
	questions JSON NOT NULL, 
	CONSTRAINT pk_question_sets PRIMARY KEY (id)
);
CREATE INDEX ix_question_sets_tenant_user ON question_sets (tenant, user);
CREATE TABLE evaluation_runs (
	id TEXT NOT NULL, 
	tenant TEXT NOT NULL, 
	user TEXT NOT NULL, 
	collection TEXT NOT NULL, 
	set_id TEXT NOT NULL, 
	set_name TEXT NOT NULL, 
	settings JSON NOT NULL, 
	questions JSON NOT NULL, 
	started_at DOUBLE NOT NULL, 
	ended_at DOUBLE, 
	figures JSON NOT NULL, 
	CONSTRAINT pk_evaluation_runs PRIMARY KEY (id)
);
CREATE INDEX ix_evaluation_runs_tenant_user_started_at ON evaluation_runs (tenant, user, started_at);
CREATE TABLE evaluation_outcomes (
	run TEXT NOT NULL, 
	number INTEGER NOT NULL, 
	setting INTEGER NOT NULL, 
	"right" INTEGER, 
	origin TEXT NOT NULL, 
	outcome JSON NOT NULL, 
	CONSTRAINT pk_evaluation_outcomes PRIMARY KEY (run, number, setting)
);
CREATE TABLE mentions_read (
	number INTEGER NOT NULL, 
	revision TEXT NOT NULL, 
	reading TEXT NOT NULL, 
	CONSTRAINT pk_mentions_read PRIMARY KEY (number), 
	CONSTRAINT fk_mentions_read_revisions FOREIGN KEY(revision) REFERENCES revisions (name) ON DELETE CASCADE
);
CREATE UNIQUE INDEX ix_mentions_read_revision ON mentions_read (revision);
CREATE TABLE entity_mentions (
	source BIGINT NOT NULL, 
	chunk INTEGER NOT NULL, 
	entity TEXT NOT NULL, 
	collection TEXT NOT NULL, 
	name TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	count INTEGER NOT NULL, 
	same TEXT NOT NULL, 
	CONSTRAINT pk_entity_mentions PRIMARY KEY (source, chunk, entity), 
	CONSTRAINT fk_entity_mentions_mentions_read FOREIGN KEY(source) REFERENCES mentions_read (number) ON DELETE CASCADE
)
 WITHOUT ROWID

;
CREATE INDEX ix_entity_mentions_collection_entity ON entity_mentions (collection, entity);
CREATE TABLE running_answers (
	name TEXT NOT NULL, 
	question TEXT NOT NULL, 
	looks INTEGER NOT NULL, 
	beat INTEGER NOT NULL, 
	stopped BOOLEAN NOT NULL, 
	at DOUBLE NOT NULL, 
	CONSTRAINT pk_running_answers PRIMARY KEY (name)
);
CREATE TABLE running_parts (
	name TEXT NOT NULL, 
	first INTEGER NOT NULL, 
	until INTEGER NOT NULL, 
	told TEXT NOT NULL, 
	CONSTRAINT pk_running_parts PRIMARY KEY (name, first), 
	CONSTRAINT fk_running_parts_running_answers FOREIGN KEY(name) REFERENCES running_answers (name) ON DELETE CASCADE
);
CREATE TABLE waiting_approvals (
	name TEXT NOT NULL, 
	approved BOOLEAN, 
	at DOUBLE NOT NULL, 
	CONSTRAINT pk_waiting_approvals PRIMARY KEY (name)
);
CREATE TABLE entity_relations (
	source BIGINT NOT NULL, 
	chunk INTEGER NOT NULL, 
	entity TEXT NOT NULL, 
	other TEXT NOT NULL, 
	said TEXT NOT NULL, 
	collection TEXT NOT NULL, 
	CONSTRAINT pk_entity_relations PRIMARY KEY (source, chunk, entity, other, said), 
	CONSTRAINT fk_entity_relations_mentions_read FOREIGN KEY(source) REFERENCES mentions_read (number) ON DELETE CASCADE
)
 WITHOUT ROWID

;
CREATE INDEX ix_entity_relations_collection_entity ON entity_relations (collection, entity);
CREATE INDEX ix_entity_relations_collection_other ON entity_relations (collection, other);
CREATE TABLE model_readings (
	revision TEXT NOT NULL, 
	recipe TEXT NOT NULL, 
	CONSTRAINT pk_model_readings PRIMARY KEY (revision), 
	CONSTRAINT fk_model_readings_revisions FOREIGN KEY(revision) REFERENCES revisions (name) ON DELETE CASCADE
);
CREATE TABLE chunk_readings (
	revision TEXT NOT NULL, 
	chunk INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	said JSON NOT NULL, 
	CONSTRAINT pk_chunk_readings PRIMARY KEY (revision, chunk), 
	CONSTRAINT fk_chunk_readings_model_readings FOREIGN KEY(revision) REFERENCES model_readings (revision) ON DELETE CASCADE
);
CREATE INDEX ix_chunk_readings_key ON chunk_readings ("key");
CREATE TABLE theme_audiences (
	tenant TEXT NOT NULL, 
	collection TEXT NOT NULL, 
	audience TEXT NOT NULL, 
	made_of TEXT NOT NULL, 
	CONSTRAINT pk_theme_audiences PRIMARY KEY (tenant, collection, audience), 
	CONSTRAINT fk_theme_audiences_collections FOREIGN KEY(tenant, collection) REFERENCES collections (tenant, id) ON DELETE CASCADE
);
CREATE TABLE themes (
	id TEXT NOT NULL, 
	tenant TEXT NOT NULL, 
	collection TEXT NOT NULL, 
	audience TEXT NOT NULL, 
	title TEXT NOT NULL, 
	entities JSON NOT NULL, 
	passages JSON NOT NULL, 
	revisions INTEGER NOT NULL, 
	summary TEXT NOT NULL, 
	"by" TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	CONSTRAINT pk_themes PRIMARY KEY (id), 
	CONSTRAINT fk_themes_theme_audiences FOREIGN KEY(tenant, collection, audience) REFERENCES theme_audiences (tenant, collection, audience) ON DELETE CASCADE
);
CREATE INDEX ix_themes_tenant_collection_audience ON themes (tenant, collection, audience);
CREATE TABLE theme_revisions (
	theme TEXT NOT NULL, 
	revision TEXT NOT NULL, 
	CONSTRAINT pk_theme_revisions PRIMARY KEY (theme, revision), 
	CONSTRAINT fk_theme_revisions_themes FOREIGN KEY(theme) REFERENCES themes (id) ON DELETE CASCADE, 
	CONSTRAINT fk_theme_revisions_revisions FOREIGN KEY(revision) REFERENCES revisions (name) ON DELETE CASCADE
);
CREATE INDEX ix_theme_revisions_revision ON theme_revisions (revision);
CREATE INDEX ix_revisions_hidden ON revisions (tenant, collection) WHERE state <> 'live';
CREATE TABLE unused_indexes (
	tenant TEXT NOT NULL, 
	id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	model TEXT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	dimensions INTEGER NOT NULL, 
	language TEXT NOT NULL, 
	build INTEGER NOT NULL, 
	late INTEGER NOT NULL, 
	place TEXT NOT NULL, shared BOOLEAN DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_unused_indexes PRIMARY KEY (tenant, id, build)
);
CREATE INDEX ix_jobs_kind_state_tenant ON jobs (kind, state, tenant);
CREATE INDEX ix_jobs_part_of ON jobs (part_of);
CREATE TABLE vector_stores (
	tenant TEXT NOT NULL, 
	collection TEXT NOT NULL, 
	title TEXT NOT NULL, 
	description TEXT NOT NULL, 
	metadata JSON NOT NULL, 
	days INTEGER, 
	created_at DOUBLE NOT NULL, 
	active_at DOUBLE NOT NULL, 
	CONSTRAINT pk_vector_stores PRIMARY KEY (tenant, collection)
);
CREATE TABLE store_files (
	tenant TEXT NOT NULL, 
	collection TEXT NOT NULL, 
	file TEXT NOT NULL, 
	path TEXT NOT NULL, 
	user TEXT NOT NULL, 
	job TEXT NOT NULL, 
	created_at DOUBLE NOT NULL, 
	CONSTRAINT pk_store_files PRIMARY KEY (tenant, collection, file)
);
CREATE INDEX ix_store_files_tenant_file ON store_files (tenant, file);
CREATE INDEX ix_store_files_job ON store_files (job);
CREATE TABLE ended_sessions (
	name TEXT NOT NULL, 
	until DOUBLE NOT NULL, 
	CONSTRAINT pk_ended_sessions PRIMARY KEY (name)
);
CREATE TABLE folder_readers (
	tenant TEXT NOT NULL, 
	collection TEXT NOT NULL, 
	folder TEXT NOT NULL, 
	by_file BOOLEAN NOT NULL, 
	readers JSON NOT NULL, 
	file TEXT NOT NULL, 
	applied BOOLEAN NOT NULL, 
	CONSTRAINT pk_folder_readers PRIMARY KEY (tenant, collection, folder, by_file)
);
