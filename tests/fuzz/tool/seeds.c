/*
 * Makes the seeds that are spools, or parts of such: one directory for each target, below the one that is named.
 *
 *   make-seeds DIRECTORY
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cupti_activity.h>

#include "analysis/job/rank_report.h"
#include "tests/fuzz/tool/scene.h"
#include "tests/trace/meaning/make_spool.h"
#include "trace/event.h"
#include "trace/spool/packing.h"

static const char *parent;

static FILE *open_seed(const char *target, const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", parent, target);
    mkdir(path, 0777);
    snprintf(path, sizeof(path), "%s/%s/%s", parent, target, name);
    FILE *file = fopen(path, "we");
    if (!file) {
        perror(path);
        exit(1);
    }
    return file;
}

static void put(FILE *file, const void *bytes, size_t size)
{
    if (fwrite(bytes, 1, size, file) != size) {
        perror("a seed");
        exit(1);
    }
}

static void close_seed(FILE *file)
{
    if (fclose(file) != 0) {
        perror("a seed");
        exit(1);
    }
}

/* --- spools --- */

static void put_cuda(struct make_spool *spool)
{
    make_spool_chunk(spool, SPOOL_CUPTI, 7);
    make_device(spool, 0, 0x1000);
    make_context(spool, 1, 0);
    make_api(spool, (struct make_api){.cbid = 211, .thread = 7, .start = 100, .end = 200, .correlation = 1});
    make_kernel(spool, (struct make_kernel){.name = 0x2000, .start = 300, .end = 400, .correlation = 1});
    make_kernel(spool, (struct make_kernel){.name = 0x2000, .start = 350, .end = 450, .correlation = 1});
    make_copy(spool, (struct make_copy){.start = 500, .end = 600, .bytes = 64, .correlation = 2, .kind = 1});
    make_copy(spool, (struct make_copy){.start = 500, .end = 600, .correlation = 3, .peer = 1, .target_device = 1});
    make_set(spool, (struct make_set){.start = 700, .end = 710, .bytes = 64, .correlation = 4});
    make_sync(spool, (struct make_sync){.start = 800, .end = 900, .type = 3, .correlation = 5, .stream = 7});
    make_cuda_event(spool, (struct make_cuda_event){.correlation = 6, .stream = 7, .event = 9, .time = 910});
    make_graph(spool, (struct make_graph){.start = 920, .end = 930, .correlation = 7, .graph = 3});
    make_overhead(spool, 940, 950, 7);
    make_pool_level(spool, (struct make_pool_level){.time = 960, .pool = 0x10, .reserved = 4096, .used = 64});
    make_pool_level(spool, (struct make_pool_level){.time = 970, .pool = 0x10});
    make_kernel(spool, (struct make_kernel){.name = 0x3000, .correlation = 8, .in_flight = 1});
    make_spool_done(spool, SPOOL_IN_USE);
}

static void put_names(struct make_spool *spool)
{
    make_spool_chunk(spool, SPOOL_RECORDS, 7);
    make_pointer_name(spool, 0x2000, "_Z6kernelPf");
    make_pointer_name(spool, 0x1000, "NVIDIA H200");
    make_thread_name(spool, 7, "main", 0);
    make_thread_name(spool, 7, "worker \xff", 1);
    make_note(spool, "a word to the user");
    make_capture(spool, 10, 1, "start");
    make_event_record(spool, 0xe0, 6, 7);
    make_own_sync(spool, (struct make_own_sync){
                             .kind = SPOOL_SYNC_EVENT, .start = 20, .end = 30, .event = 0xe0, .correlation = 9});
    make_stream(spool, 0x700, 1, 7);
    make_context_handle(spool, 0x100, 1, 0);
    make_nvtx_name(spool, SPOOL_NVTX_STREAM, 0x700, SPOOL_NO_STREAM, "copies");
    make_context_end(spool, 5000, 1, 0);
    make_spool_done(spool, SPOOL_DONE);
}

/* Launches of a graph with conditional nodes, work of the graph and of a body, and what was seen instead of a range. */
static void put_graphs(struct make_spool *spool)
{
    make_spool_chunk(spool, SPOOL_RECORDS, 7);
    for (uint32_t i = 0; i < 2; i++) {
        struct spool_graph_launch *launch =
            make_own(spool, SPOOL_RECORD_GRAPH_LAUNCH, 100 + i * 1000, sizeof(*launch), 0, NULL, 0);
        launch->graph = 3;
        launch->correlation = 20 + i;
    }
    for (uint16_t what = SPOOL_SEEN_RANGE; what <= SPOOL_SEEN_START; what++) {
        struct spool_seen *seen = make_own(spool, SPOOL_RECORD_SEEN, 90, sizeof(*seen), sizeof(seen->text), "step", 4);
        seen->head.flags = what;
        seen->length = 4;
    }
    make_spool_done(spool, SPOOL_DONE);
    make_spool_chunk(spool, SPOOL_CUPTI, 7);
    make_kernel(spool, (struct make_kernel){
                           .name = 0x2000, .start = 200, .end = 300, .correlation = 20, .graph = 3, .node = 1});
    make_kernel(spool, (struct make_kernel){.name = 0x2000, .start = 300, .end = 400, .graph = 3, .node = 2});
    make_kernel(spool, (struct make_kernel){.name = 0x2000, .start = 1300, .end = 1400, .graph = 3, .node = 2});
    make_spool_done(spool, SPOOL_DONE);
}

static void put_memory(struct make_spool *spool)
{
    make_spool_chunk(spool, SPOOL_RECORDS, 7);
    struct make_memory memory = {
        .time = 20, .address = 0x7000, .size = 64, .thread = 7, .operation = SPOOL_MEMORY_ALLOCATE, .kind = 1};
    const uint64_t stack[] = {0x401000, SPOOL_STACK_PYTHON << 48 | 1, 0x402000, SPOOL_STACK_PYTHON << 48 | 2};
    static const char function[] = "forward\0/home/me/model.py";
    struct spool_stack *kept =
        make_own(spool, SPOOL_RECORD_STACK, 15, sizeof(*kept), sizeof(kept->text), stack, sizeof(stack));
    kept->stack = 1;
    kept->length = sizeof(stack);
    struct spool_python_frame *frame = make_own(spool, SPOOL_RECORD_PYTHON_FRAME, 15, sizeof(*frame),
                                                sizeof(frame->text), function, sizeof(function) - 1);
    frame->number = 1;
    frame->line = 12;
    frame->length = sizeof(function) - 1;
    memory.stack = 1;
    make_memory(spool, memory);
    memory.time = 30;
    memory.operation = SPOOL_MEMORY_RELEASE;
    make_memory(spool, memory);
    make_device_range(spool, (struct make_device_range){.time = 40, .range = 1, .correlation = 6, .text = "range"});
    make_device_range(spool, (struct make_device_range){.ended = 1, .time = 50, .range = 1, .correlation = 6});
    make_spool_done(spool, SPOOL_IN_USE);
}

static void put_nvtx(struct make_spool *spool)
{
    make_spool_chunk(spool, SPOOL_RECORDS, 8);
    make_nvtx_domain(spool, 1, "domain");
    make_nvtx_string(spool, 1, 1, "registered");
    make_nvtx_category(spool, 1, 2, "category");
    make_nvtx(spool,
              (struct make_nvtx){.what = SPOOL_NVTX_PUSH, .time = 60, .domain = 1, .category = 2, .text = "push"});
    make_nvtx_plain(spool, (struct make_nvtx){.what = SPOOL_NVTX_PUSH, .time = 70, .domain = 1, .string = 1});
    make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_POP, .time = 80, .domain = 1});
    make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_START, .time = 90, .range = 5, .color_type = 1, .color = 7});
    make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_END, .time = 95, .range = 5});
    make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_MARK, .time = 99, .payload = 7, .payload_type = 2});
    make_nvtx_resource(
        spool, (struct make_nvtx_resource){.time = 1, .resource = 3, .type = SPOOL_NVTX_SYNC_USER, .name = "lock"});
    make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_ACQUIRE, .time = 2, .range = 3});
    make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_ACQUIRED, .time = 3, .range = 3});
    make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_RELEASE, .time = 4, .range = 3});
    make_nvtx_recorded(spool, 0x900, 6);
    make_spool_done(spool, SPOOL_DONE);
}

/* A record of the type with nothing in it but its text. */
static void put_bare(struct make_spool *spool, uint16_t type, size_t size)
{
    uint8_t *record = make_own(spool, type, 100, size, 0, NULL, 0);
    memset(record + sizeof(struct spool_record), 1, size - sizeof(struct spool_record));
}

static void put_every_type(struct make_spool *spool)
{
    make_spool_chunk(spool, SPOOL_RECORDS, 7);
#define TYPE(name, structure, holds) put_bare(spool, SPOOL_RECORD_##name, sizeof(struct structure));
    SPOOL_RECORD_TYPES(TYPE)
#undef TYPE
    make_spool_done(spool, SPOOL_DONE);
}

/* A payload of a schema with a number and a text, and a counter with a sample. */
static void put_extensions(struct make_spool *spool)
{
    make_spool_chunk(spool, SPOOL_RECORDS, 7);
    struct spool_nvtx_schema *schema = make_own(spool, SPOOL_RECORD_NVTX_SCHEMA, 1, sizeof(*schema), 4, "step", 4);
    schema->id = UINT64_C(1) << 24;
    schema->number = 1;
    schema->kind = 1;
    schema->entries = 2;
    struct spool_nvtx_entry *entry = make_own(spool, SPOOL_RECORD_NVTX_ENTRY, 1, sizeof(*entry), 4, "loss", 4);
    entry->type = 19;
    entry->schema = 1;
    entry->name_length = 4;
    entry = make_own(spool, SPOOL_RECORD_NVTX_ENTRY, 1, sizeof(*entry), 4, "tag", 3);
    entry->type = 75;
    entry->detail = 4;
    entry->schema = 1;
    entry->index = 1;
    entry->name_length = 3;
    struct spool_nvtx_piece *piece = make_own(spool, SPOOL_RECORD_NVTX_PIECE, 2, sizeof(*piece), 4, "\0\0\x80?tag", 8);
    piece->number = 1;
    piece->address = 0x5000;
    piece->schema = UINT64_C(1) << 24;
    piece->size = 8;
    make_nvtx(spool, (struct make_nvtx){
                         .what = SPOOL_NVTX_MARK, .time = 2, .payload = 1, .payload_type = SPOOL_NVTX_PAYLOAD_PIECES});
    struct spool_nvtx_counter *counter = make_own(spool, SPOOL_RECORD_NVTX_COUNTER, 1, sizeof(*counter), 4, "heat", 4);
    counter->id = 77;
    counter->schema = 17;
    counter->number = 2;
    counter->name_length = 4;
    struct spool_nvtx_sample *sample = make_own(spool, SPOOL_RECORD_NVTX_SAMPLE, 3, sizeof(*sample), 4, NULL, 0);
    sample->counter = 77;
    sample->bits = 5;
    make_spool_done(spool, SPOOL_DONE);
}

static void put_operator(struct make_spool *spool, uint64_t time, uint16_t scope, uint32_t self, uint64_t sequence)
{
    struct spool_torch_start *start = make_own(spool, SPOOL_RECORD_TORCH_START, time, sizeof(*start), 0, NULL, 0);
    start->head.flags = scope;
    start->name = 1;
    start->self = self;
    start->sequence = sequence;
}

static void put_operator_end(struct make_spool *spool, uint64_t time, uint32_t self)
{
    struct spool_torch_end *end = make_own(spool, SPOOL_RECORD_TORCH_END, time, sizeof(*end), 0, NULL, 0);
    end->self = self;
}

static void put_operators(struct make_spool *spool)
{
    static const char inputs_text[] = "[[8,16],[]]\0float";
    make_spool_chunk(spool, SPOOL_RECORDS, 7);
    struct spool_torch_text *text = make_own(spool, SPOOL_RECORD_TORCH_TEXT, 1, sizeof(*text), 8, "aten::mm", 8);
    text->number = 1;
    text->length = 8;
    text = make_own(spool, SPOOL_RECORD_TORCH_TEXT, 1, sizeof(*text), 8, inputs_text, sizeof(inputs_text));
    text->head.flags = SPOOL_OPERATOR_INPUTS;
    text->number = 2;
    text->length = sizeof(inputs_text);
    struct spool_torch_thread *thread = make_own(spool, SPOOL_RECORD_TORCH_THREAD, 1, sizeof(*thread), 0, NULL, 0);
    thread->number = 1;
    put_operator(spool, 10, SPOOL_OPERATOR_USER, 8, 0);
    put_operator(spool, 20, SPOOL_OPERATOR_FUNCTION, 9, 6);
    struct spool_torch_inputs *inputs = make_own(spool, SPOOL_RECORD_TORCH_INPUTS, 21, sizeof(*inputs), 0, NULL, 0);
    inputs->self = 9;
    inputs->inputs = 2;
    put_operator_end(spool, 30, 9);
    put_operator(spool, 40, SPOOL_OPERATOR_BACKWARD, 9, UINT64_C(1) << SPOOL_OPERATOR_SEQUENCE_BITS | 6);
    put_operator_end(spool, 50, 9);
    make_spool_done(spool, SPOOL_DONE);
    make_spool_chunk(spool, SPOOL_RECORDS, 8);
    put_operator_end(spool, 60, 8);
    make_spool_done(spool, SPOOL_DONE);
}

static void put_plugins(struct make_spool *spool)
{
    make_spool_chunk(spool, SPOOL_RECORDS, 7);
    struct spool_plugin *plugin = make_own(spool, SPOOL_RECORD_PLUGIN, 1, sizeof(*plugin), 8, "leaks", 5);
    plugin->plugin = 2;
    struct spool_plugin_event *event =
        make_own(spool, SPOOL_RECORD_PLUGIN_EVENT, 10, sizeof(*event), 8, "namedetail", 10);
    event->head.flags = SPOOL_PLUGIN_SLICE;
    event->end = MAKE_SPOOL_START + 20;
    event->plugin = 2;
    event->thread = 7;
    event->name_length = 4;
    struct spool_plugin_line *line = make_own(spool, SPOOL_RECORD_PLUGIN_LINE, 1, sizeof(*line), 8, "a line", 6);
    line->plugin = 2;
    line->stack = 1;
    const char *map = "400000-500000 r-xp 00000000 08:01 12 /bin/app";
    make_own(spool, SPOOL_RECORD_MAPPING, 1, sizeof(struct spool_mapping), 8, map, strlen(map));
    struct spool_phase *phase = make_own(spool, SPOOL_RECORD_PHASE, 30, sizeof(*phase), 8, "cuModuleLoad", 12);
    phase->phase = 1;
    phase->trigger = 1;
    phase->thread = 7;
    phase = make_own(spool, SPOOL_RECORD_PHASE, 40, sizeof(*phase), 8, NULL, 0);
    phase->head.flags = SPOOL_PHASE_ENDED;
    phase->phase = 1;
    make_spool_done(spool, SPOOL_DONE);
}

static const struct {
    const char *name;
    void (*put)(struct make_spool *spool);
} parts[] = {
    {"cuda", put_cuda},
    {"names", put_names},
    {"memory", put_memory},
    {"nvtx", put_nvtx},
    {"plugins", put_plugins},
    {"every-type", put_every_type},
    {"extensions", put_extensions},
    {"graphs", put_graphs},
    {"operators", put_operators},
};
#define PART_COUNT (sizeof(parts) / sizeof(*parts))

/* --- the same for each target --- */

/* The header's place is as small as readers accept: inputs longer than 8 KiB are cut (tests/fuzz/run). */
static void write_spool(const struct make_spool *spool, const char *name)
{
    struct spool_header header;
    memcpy(&header, spool->data, sizeof(header));
    uint32_t saved = SPOOL_HEADER_BYTES - (uint32_t)((sizeof(header) + SPOOL_ALIGN - 1) / SPOOL_ALIGN * SPOOL_ALIGN);
    header.header_bytes -= saved;
    header.formatted = spool->size - saved;
    FILE *file = open_seed("spool", name);
    put(file, &header, sizeof(header));
    put(file, spool->data + sizeof(header), header.header_bytes - sizeof(header));
    put(file, spool->data + SPOOL_HEADER_BYTES, spool->size - SPOOL_HEADER_BYTES);
    close_seed(file);
}

/* Calls EACH with what the chunks hold. */
static void each_chunk(const struct make_spool *spool,
                       void (*each)(const struct spool_chunk *, const uint8_t *, FILE *), FILE *file)
{
    for (size_t at = SPOOL_HEADER_BYTES; at < spool->size;) {
        struct spool_chunk chunk;
        memcpy(&chunk, spool->data + at, sizeof(chunk));
        if (chunk.type == SPOOL_CUPTI && chunk.used == 0)
            chunk.used = chunk.bytes - sizeof(chunk);
        each(&chunk, spool->data + at + sizeof(chunk), file);
        at += chunk.bytes;
    }
}

static void put_record(FILE *file, uint8_t kind, uint8_t state, const uint8_t *bytes, size_t size)
{
    const uint8_t head[] = {kind, state, (uint8_t)(size < 255 ? size : 255)};
    put(file, head, sizeof(head));
    put(file, bytes, head[2]);
}

static const struct make_spool *of_chunk;

static void put_records(const struct spool_chunk *chunk, const uint8_t *data, FILE *file)
{
    for (size_t at = 0; at + 8 <= chunk->used;) {
        uint32_t kind;
        struct spool_record own;
        memcpy(&kind, data + at, sizeof(kind));
        memcpy(&own, data + at, sizeof(own));
        size_t bytes = chunk->type == SPOOL_RECORDS
                           ? own.bytes
                           : make_spool_header((struct make_spool *)(uintptr_t)of_chunk)->record_bytes[kind & 63];
        if (bytes == 0 || kind == 0)
            return;
        if (chunk->type == SPOOL_CUPTI)
            put_record(file, (uint8_t)(0x80 | kind), kind & SPOOL_IN_FLIGHT ? 0x80 : 0, data + at + 4, bytes - 4);
        else
            put_record(file, (uint8_t)own.type, (uint8_t)own.flags, data + at + sizeof(own), bytes - sizeof(own));
        at += bytes;
    }
}

static void put_own_bytes(const struct spool_chunk *chunk, const uint8_t *data, FILE *file)
{
    if (chunk->type == SPOOL_RECORDS)
        put(file, data, (size_t)chunk->used);
}

static void put_cupti_bytes(const struct spool_chunk *chunk, const uint8_t *data, FILE *file)
{
    if (chunk->type == SPOOL_CUPTI)
        put(file, data, (size_t)chunk->used);
}

static void put_packed(const struct spool_chunk *chunk, const uint8_t *data, FILE *file)
{
    struct packer packer;
    size_t size;
    const uint16_t *record_bytes = make_spool_header((struct make_spool *)(uintptr_t)of_chunk)->record_bytes;
    if (packer_init(&packer) != 0)
        return;
    const uint8_t *entry = packer_pack(&packer, chunk, data, record_bytes, &size);
    put(file, entry, size);
    packer_release(&packer);
}

static void put_columns(const struct spool_chunk *chunk, const uint8_t *data, FILE *file)
{
    const uint16_t *record_bytes = make_spool_header((struct make_spool *)(uintptr_t)of_chunk)->record_bytes;
    uint32_t used = (uint32_t)chunk->used;
    if (chunk->type == SPOOL_RECORDS)
        record_bytes = NULL;
    uint8_t *columns = malloc(COLUMNS_BYTES_MAX(used));
    if (columns) {
        size_t size = columns_split(data, used, record_bytes, columns);
        put(file, &used, sizeof(used));
        put(file, columns, size);
    }
    free(columns);
}

static void write_parts(const struct make_spool *spool, const char *name)
{
    const uint8_t version = 0;
    of_chunk = spool;
    FILE *file = open_seed("records", name);
    put(file, &version, 1);
    each_chunk(spool, put_records, file);
    close_seed(file);

    file = open_seed("packed", name);
    each_chunk(spool, put_packed, file);
    close_seed(file);

    file = open_seed("columns", name);
    each_chunk(spool, put_columns, file);
    close_seed(file);

    file = open_seed("own", name);
    each_chunk(spool, put_own_bytes, file);
    close_seed(file);

    const struct spool_header *header = make_spool_header((struct make_spool *)(uintptr_t)spool);
    const uint8_t end_and_state[] = {0, 0};
    file = open_seed("cupti", name);
    put(file, &header->cupti_version, 4);
    put(file, end_and_state, 2);
    each_chunk(spool, put_cupti_bytes, file);
    close_seed(file);
}

static void write_seeds(const char *name, size_t from, size_t to, uint32_t version)
{
    struct make_spool spool;
    make_spool_init(&spool, 7, version);
    for (size_t i = from; i < to; i++)
        parts[i].put(&spool);
    write_spool(&spool, name);
    write_parts(&spool, name);
    make_spool_release(&spool);
}

/* --- recipes --- */

static void write_recipe(const char *target, const uint8_t *recipe, size_t size)
{
    static unsigned made;
    char name[16];
    snprintf(name, sizeof(name), "%05u", made++);
    FILE *file = open_seed(target, name);
    put(file, recipe, size);
    close_seed(file);
}

/* What a target of recipes certainly tries: each argument with values that differ by category, each member with many,
 * each category, each phase, all times and values of the metadata. */
static void write_recipes(const char *target)
{
    static const unsigned steps[SCENE_CHANGE_COUNT][2] = {/* of keys, of values */
                                                          [SCENE_ARGUMENTS] = {1, 17},
                                                          [SCENE_MEMBER] = {1, 2},
                                                          [SCENE_CATEGORY] = {CATEGORY_COUNT + 1, 255},
                                                          [SCENE_TIMES] = {1, 255},
                                                          [SCENE_LEAVES] = {1, 1}};
    unsigned made = 0;
    for (unsigned change = 0; change < SCENE_CHANGE_COUNT; change++)
        for (unsigned key = 0; steps[change][0] > 0 && key < scene_key_count(change); key += steps[change][0])
            for (unsigned value = key % 2; value < scene_value_count; value += steps[change][1], made++) {
                bool high = change == SCENE_CATEGORY;
                const uint8_t recipe[] = {(uint8_t)(made * 37), (uint8_t)made,
                                          (uint8_t)change,      SCENE_ALL,
                                          (uint8_t)key,         (uint8_t)(high ? key >> 8 : value)};
                write_recipe(target, recipe, sizeof(recipe));
            }
}

/* Each word of the records of a part, in all records of its kind. */
static void write_part_recipes(const char *target)
{
    static const size_t records[] = {
#define BLOCK(constant, type) sizeof(type),
        RANK_REPORT_BLOCKS(BLOCK)
#undef BLOCK
    };
    for (unsigned block = 0; block < RANK_REPORT_TEXTS; block++)
        for (unsigned word = 0; word < records[block] / 4; word++)
            for (unsigned value = word % 3; value < 20; value += 3)
                write_recipe(target,
                             (const uint8_t[]){(uint8_t)(word + value), (uint8_t)block, SCENE_ALL, (uint8_t)word,
                                               (uint8_t)value},
                             5);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    parent = argv[1];
    for (size_t i = 0; i < PART_COUNT; i++)
        write_seeds(parts[i].name, i, i + 1, 130001);
    write_seeds("all", 0, PART_COUNT, 130001);
    write_seeds("all-12.9", 0, PART_COUNT, 22);
    write_seeds("all-11.8", 0, PART_COUNT, 18);
    write_recipes("values");
    write_part_recipes("part");
    return 0;
}
