/*
 * What the sink of .pftrace makes is given back by the reader; that Perfetto understands it as meant is what
 * tests/tools/check_pftrace looks at, in convert.bats.
 */
#include "tests/trace/pftrace/pftrace_file.h"
#include "tests/unit.h"

#include "common/map.h"
#include "common/buffer.h"
#include "trace/pftrace/reader.h"
#include "trace/sink.h"

#define MARK_BYTES 6 /* of the file's first packet, and of its last */
#define BASE UINT64_C(1700000000000000000)

static struct buffer buffer;
static struct sink sink;
static struct interner strings;
static struct pftrace_file reading;
static struct pftrace_event event;
enum { ARGS_MOST = 64 };
static struct arg all_args[ARGS_MOST];
static char *texts[ARGS_MOST];
static char path[] = "/tmp/pftrace_test.XXXXXX";

UNIT_FIXTURE(set_up)
{
    buffer_init_memory(&buffer);
    sink_init(&sink, &pftrace, &buffer);
    sink.format->begin(&sink, BASE);
    return 0;
}

static void forget_args(void)
{
    for (size_t i = 0; i < event.arg_count; i++)
        free(texts[i]);
    event.arg_count = 0;
}

UNIT_FIXTURE(tear_down)
{
    forget_args();
    if (reading.reader)
        pftrace_file_close(&reading);
    interner_release(&strings);
    strings = (struct interner){0};
    sink_release(&sink);
    buffer_release(&buffer);
    return 0;
}

static void open_written(size_t size)
{
    strcpy(path + strlen(path) - 6, "XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, buffer.data, size) == (ssize_t)size);
    close(fd);
    assert_true(pftrace_file_open(&reading, path, &strings));
    unlink(path);
}

static void finish(void)
{
    sink.format->finish(&sink);
    assert_int_equal(buffer.failure, 0);
    open_written(buffer.length);
}

static void add_args(const struct arg *args, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct arg *to = &all_args[event.arg_count];
        bool text = args[i].type == ARG_TYPE_TEXT || args[i].type == ARG_TYPE_RAW;
        assert_true(event.arg_count < ARGS_MOST);
        *to = args[i];
        texts[event.arg_count++] = text ? strndup(to->text, to->length) : NULL;
        if (text)
            to->text = texts[event.arg_count - 1];
    }
}

static void add_number(enum arg_key key, uint64_t number)
{
    struct arg arg = {.key = key, .type = ARG_TYPE_U64, .u64 = number};
    add_args(&arg, 1);
}

/* Makes `event` the next one, with all that are its arguments in one list. */
static int read_next(void)
{
    const struct pftrace_event *next;
    forget_args();
    int more = pftrace_file_next(&reading, &next);
    if (more <= 0)
        return more;
    event = *next;
    event.arg_count = 0;
    event.args = all_args;
    add_args(next->args, next->arg_count);
    if (next->shared)
        add_args(next->shared->args.items, next->shared->args.count);
    if (next->cbid != 0)
        add_number(ARG_CBID, next->cbid - 1);
    if (next->has_correlation)
        add_number(ARG_CORRELATION, next->correlation);
    return 1;
}

static void next_is(enum pftrace_what what)
{
    assert_int_equal(read_next(), 1);
    assert_int_equal(event.what, what);
}

static void no_more(void)
{
    assert_int_equal(read_next(), 0);
    assert_int_equal(pftrace_left_out(reading.reader), 0);
}

static const struct arg *arg(const char *name)
{
    for (size_t i = 0; i < event.arg_count; i++) {
        const struct arg *arg = &event.args[i];
        if (strcmp(arg->key == ARG_OTHER ? arg->other : arg_words[arg->key].text, name) == 0)
            return arg;
    }
    fail_msg("there is no argument '%s'", name);
    return NULL;
}

static struct slice call(uint64_t start, uint64_t end)
{
    return (struct slice){.category = CATEGORY_CUDA_RUNTIME,
                          .name = name_passing("cudaLaunchKernel", 16),
                          .row = {42, 43},
                          .start = BASE + start,
                          .end = BASE + end};
}

static struct slice kernel(uint64_t start, uint64_t end)
{
    return (struct slice){.category = CATEGORY_KERNEL,
                          .name = name_passing("add(float*)", 11),
                          .row = {0, 7},
                          .start = BASE + start,
                          .end = BASE + end};
}

static void write_slice(struct slice slice)
{
    sink.format->slice(&sink, &slice);
}

static void next_slice_is(uint64_t start, uint64_t end)
{
    next_is(PFTRACE_SLICE);
    assert_int_equal(event.start, start);
    assert_int_equal(event.end, end);
}

UNIT_TEST_WITH(test_rows_and_metadata, set_up, tear_down)
{
    sink.format->metadata(&sink, "gputrace", "{\"a\":1}", 7);
    sink.format->process(&sink, &(struct row_name){.row = {42, 42}, .name = "app", .label = "CPU", .sort_index = 42});
    sink.format->process(
        &sink,
        &(struct row_name){.row = {0, 0}, .name = "app GPU 0", .label = "GPU 0", .owner = 42, .sort_index = 5000000});
    sink.format->thread(&sink, &(struct row_name){.row = {42, 43}, .name = "thread 43", .sort_index = INT64_MIN});
    finish();
    next_is(PFTRACE_METADATA);
    assert_string_equal(event.name, "gputrace");
    assert_string_equal(event.text, "{\"a\":1}");
    next_is(PFTRACE_PROCESS);
    assert_string_equal(event.name, "app");
    assert_string_equal(event.text, "CPU");
    assert_false(event.is_gpu);
    next_is(PFTRACE_PROCESS);
    assert_true(event.is_gpu);
    assert_int_equal(event.owner, 42);
    assert_int_equal(event.pid, 0);
    assert_int_equal(event.sort_index, 5000000);
    next_is(PFTRACE_THREAD);
    assert_int_equal(event.tid, 43);
    assert_true(event.sort_index == INT64_MIN);
    assert_null(event.text);
    no_more();
}

/* Records come in the order of ends: what encloses comes after what is in it, and is earlier. */
UNIT_TEST_WITH(test_times_may_go_back, set_up, tear_down)
{
    write_slice(call(1000, 2000));
    write_slice(call(500, 2500));
    write_slice(call(2500, 2500));
    write_slice(call(0, 1));
    finish();
    next_slice_is(1000, 2000);
    next_slice_is(500, 2500);
    next_slice_is(2500, 2500);
    next_slice_is(0, 1);
    no_more();
}

UNIT_TEST_WITH(test_a_time_before_the_base_is_the_base, set_up, tear_down)
{
    struct slice slice = call(0, 5);
    slice.start = BASE - 10;
    write_slice(slice);
    finish();
    next_slice_is(0, 5);
}

static void put_flow(uint32_t id, struct row row, uint64_t time, bool head)
{
    struct flow flow = {.id = id, .ends = head, .row = row, .time = BASE + time};
    sink.format->flow(&sink, &flow);
}

UNIT_TEST_WITH(test_flows_are_the_slices, set_up, tear_down)
{
    struct args args = {0};
    args_u64(&args, ARG_CBID, 211);
    args_u64(&args, ARG_CORRELATION, 9);
    struct slice launch = call(100, 200);
    launch.args = &args;
    write_slice(launch);
    put_flow(9, launch.row, 100, false);
    put_flow(70, launch.row, 100, false);
    write_slice(kernel(150, 300));
    put_flow(9, (struct row){0, 7}, 180, true);
    finish();
    next_slice_is(100, 200);
    assert_false(event.is_head);
    assert_int_equal(event.flow_count, 2);
    assert_int_equal(event.flows[1], 70);
    assert_int_equal(arg("correlation")->u64, 9);
    assert_int_equal(arg("cbid")->u64, 211);
    assert_int_equal(event.arg_count, 2);
    next_slice_is(150, 300);
    assert_true(event.is_head);
    assert_int_equal(event.flow_count, 1);
    assert_int_equal(event.flow_time, 180);
    assert_int_equal(event.arg_count, 0); /* it had no correlation, and the flow's is none */
    no_more();
}

/* A correlation that is not the flow's is written by itself. */
UNIT_TEST_WITH(test_correlation_and_flow_may_differ, set_up, tear_down)
{
    struct args args = {0};
    args_u64(&args, ARG_CORRELATION, 5);
    struct slice work = kernel(0, 10);
    work.args = &args;
    write_slice(work);
    put_flow(6, work.row, 0, true);
    write_slice(work);
    finish();
    next_slice_is(0, 10);
    assert_int_equal(event.flows[0], 6);
    assert_int_equal(arg("correlation")->u64, 5);
    next_slice_is(0, 10);
    assert_int_equal(event.flow_count, 0);
    assert_int_equal(arg("correlation")->u64, 5);
}

UNIT_TEST_WITH(test_a_flow_of_another_row_is_none, set_up, tear_down)
{
    write_slice(call(0, 10));
    put_flow(1, (struct row){42, 44}, 0, false);
    finish();
    next_slice_is(0, 10);
    assert_int_equal(event.flow_count, 0);
}

/* As those to slices of synchronisation. */
UNIT_TEST_WITH(test_a_flow_may_end_at_a_call, set_up, tear_down)
{
    write_slice(call(0, 10));
    put_flow(2, (struct row){42, 43}, 0, true);
    finish();
    next_slice_is(0, 10);
    assert_int_equal(event.flow_count, 1);
    assert_true(event.flows[0] == (2 | PFTRACE_FLOW_OF_CALL | PFTRACE_FLOW_ENDS));
    assert_false(event.has_correlation);
}

UNIT_TEST_WITH(test_what_launches_share, set_up, tear_down)
{
    static const int32_t grid[3] = {1, 2, 3}, block[3] = {256, 1, 1};
    size_t first = 0;
    for (uint64_t i = 0; i < 3; i++) {
        struct args args = {0};
        args_u64(&args, ARG_DEVICE, 1);
        args_u64(&args, ARG_CONTEXT, 2);
        args_u64(&args, ARG_REGISTERS, 32);
        args_real(&args, ARG_WARPS_PER_SM, ARG_TYPE_FIXED, 1.23456789);
        args_size3(&args, ARG_GRID, grid);
        args_size3(&args, ARG_BLOCK, block);
        args_u64(&args, ARG_QUEUED, 0);
        args_u64(&args, ARG_GRAPH_NODE, 1000 + i);
        struct slice work = kernel(100 * i, 100 * i + 10);
        work.args = &args;
        write_slice(work);
        if (i == 1)
            first = buffer.length;
    }
    finish();
    for (uint64_t i = 0; i < 3; i++) {
        next_slice_is(100 * i, 100 * i + 10);
        assert_string_equal(category_words[event.category].text, "kernel");
        assert_string_equal(event.name, "add(float*)");
        assert_int_equal(arg("grid")->size3[2], 3);
        assert_int_equal(arg("block")->size3[0], 256);
        assert_int_equal(arg("registers per thread")->u64, 32);
        assert_true(arg("warps per SM")->real == 1.234568);
        assert_int_equal(arg("queued")->u64, 0);
        assert_int_equal(arg("graph node id")->u64, 1000 + i);
        assert_int_equal(event.arg_count, 8);
    }
    assert_true(buffer.length - first < 2 * 50); /* what they share is written once */
}

/* The slice before is written first. */
UNIT_TEST_WITH(test_rows_may_come_late, set_up, tear_down)
{
    write_slice(call(0, 10));
    sink.format->thread(&sink, &(struct row_name){.row = {42, 50}, .name = "late"});
    write_slice(call(20, 30));
    finish();
    next_slice_is(0, 10);
    next_is(PFTRACE_THREAD);
    next_slice_is(20, 30);
    no_more();
}

UNIT_TEST_WITH(test_arguments_of_every_type, set_up, tear_down)
{
    static const int32_t size[3] = {-1, 0, 5};
    static char long_text[1000];
    memset(long_text, 'y', sizeof(long_text) - 1);
    struct args args = {0};
    args_i64(&args, ARG_STREAM, -1);
    args_real(&args, ARG_VALUE, ARG_TYPE_REAL, 0.1);
    args_real(&args, ARG_PAYLOAD, ARG_TYPE_REAL, -1.0 / 0.0);
    args_add(&args, ARG_ADDRESS, ARG_TYPE_HEX)->u64 = 0x7f00;
    args_add(&args, ARG_COLOR, ARG_TYPE_COLOR)->u64 = 0xff102030;
    args_add(&args, ARG_FAILED, ARG_TYPE_TRUE);
    args_add(&args, ARG_CACHE_HIT, ARG_TYPE_FALSE);
    args_text(&args, ARG_DOMAIN, "bad \xff byte", 10);
    args_text(&args, ARG_MESSAGE, long_text, sizeof(long_text) - 1);
    args_size3(&args, ARG_EXTENT, size);
    struct arg *members = args_add(&args, ARG_OTHER, ARG_TYPE_MEMBERS);
    members->text = "\"kind\":\"x\\ny\",\"detail\":{\"a\":[1,null]},\"offset\":-3,\"from\":2.5";
    members->length = strlen(members->text);
    struct slice slice = call(1, 2);
    slice.args = &args;
    sink.format->instant(&sink, &slice);
    finish();
    next_is(PFTRACE_INSTANT);
    assert_int_equal(event.start, 1);
    assert_true(arg("stream")->type == ARG_TYPE_I64 && arg("stream")->i64 == -1);
    assert_true(arg("value")->real == 0.1);
    assert_string_equal(arg("payload")->text, "-Infinity");
    assert_true(arg("address")->type == ARG_TYPE_HEX && arg("address")->u64 == 0x7f00);
    assert_string_equal(arg("color")->text, "#102030");
    assert_true(arg("failed")->type == ARG_TYPE_TRUE);
    assert_true(arg("cache hit")->type == ARG_TYPE_FALSE);
    assert_string_equal(arg("domain")->text, "bad \xef\xbf\xbd byte");
    assert_string_equal(arg("message")->text, long_text);
    assert_string_equal(arg("extent")->text, "[-1,0,5]");
    assert_string_equal(arg("kind")->text, "x\ny");
    assert_true(arg("detail")->type == ARG_TYPE_RAW);
    assert_string_equal(arg("detail")->text, "{\"a\":[1,null]}");
    assert_int_equal(arg("offset")->i64, -3);
    assert_true(arg("from")->real == 2.5);
    no_more();
}

UNIT_TEST_WITH(test_counters_and_ranges, set_up, tear_down)
{
    struct counter_value values[] = {{.name = "one", .length = 3, .kind = COUNTER_SIGNED, .i64 = -7},
                                     {.name = "two", .length = 3, .kind = COUNTER_REAL, .real = 0.5}};
    struct counter counter = {
        .name = name_passing("many", 4), .pid = 42, .time = BASE + 5, .values = values, .value_count = 2};
    sink.format->counter(&sink, &counter);
    counter = (struct counter){.name = name_passing("bytes", 5), .pid = 0, .time = BASE + 6, .bytes = 1u << 30};
    sink.format->counter(&sink, &counter);
    counter.time++;
    counter.bytes = 0;
    sink.format->counter(&sink, &counter);
    struct async_slice range = {.category = CATEGORY_USER_ANNOTATION,
                                .name = name_passing("r", 1),
                                .begin = {42, 43},
                                .end_row = {42, 44},
                                .start = BASE + 8,
                                .end = BASE + 9,
                                .id = 12};
    sink.format->async(&sink, &range);
    finish();
    next_is(PFTRACE_COUNTER);
    assert_string_equal(event.name, "many");
    assert_int_equal(arg("one")->i64, -7);
    assert_true(arg("two")->real == 0.5);
    assert_false(event.one_value);
    for (uint64_t i = 0; i < 2; i++) {
        next_is(PFTRACE_COUNTER);
        assert_true(event.one_value);
        assert_int_equal(event.pid, 0);
        assert_int_equal(event.start, 6 + i);
        assert_int_equal(event.args[0].u64, i == 0 ? 1u << 30 : 0);
    }
    next_is(PFTRACE_ASYNC);
    assert_int_equal(event.id, 12);
    assert_int_equal(event.tid, 43);
    assert_int_equal(event.end_tid, 44);
    assert_int_equal(event.end, 9);
    no_more();
}

/* Each piece tells its own names, and numbers its rows anew. */
UNIT_TEST_WITH(test_pieces_stand_alone, set_up, tear_down)
{
    sink.format->thread(&sink, &(struct row_name){.row = {0, 7}, .name = "stream 7"});
    for (uint64_t i = 0; i < 3; i++) {
        struct sink piece;
        sink_piece(&piece, &sink, &buffer);
        struct slice first = i % 2 ? call(10 * i, 10 * i + 5) : kernel(10 * i, 10 * i + 5);
        struct slice second = i % 2 ? kernel(10 * i, 10 * i + 6) : call(10 * i, 10 * i + 6);
        piece.format->slice(&piece, &first);
        piece.format->slice(&piece, &second);
        assert_int_equal(piece.events, 2);
        sink_release(&piece); /* writes the last slice */
    }
    finish();
    next_is(PFTRACE_THREAD);
    for (uint64_t i = 0; i < 3; i++) {
        next_slice_is(10 * i, 10 * i + 5);
        assert_int_equal(event.category, i % 2 ? CATEGORY_CUDA_RUNTIME : CATEGORY_KERNEL);
        next_slice_is(10 * i, 10 * i + 6);
        assert_string_equal(event.name, i % 2 ? "add(float*)" : "cudaLaunchKernel");
    }
    no_more();
}

/* Gives the length of what is left. */
static size_t remove_sections(char *bytes, size_t length)
{
    static const char section[] = "\n\4\xb8\xeb\4\1";
    size_t left = 0, size = sizeof(section) - 1;
    for (size_t at = 0; at < length;) {
        if (length - at >= size && memcmp(bytes + at, section, size) == 0)
            at += size;
        else
            bytes[left++] = bytes[at++];
    }
    return left;
}

/* As `gputrace report` reads it: each run by a reader of its own. */
static uint64_t count_by_runs(size_t *runs)
{
    uint64_t slices = 0;
    struct packets packets;
    struct packets_run run = {0};
    const struct pftrace_event *next;
    strcpy(path + strlen(path) - 6, "XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, buffer.data, buffer.length) == (ssize_t)buffer.length);
    close(fd);
    assert_int_equal(packets_open(&packets, path), 0);
    unlink(path);
    for (*runs = 0; packets_next_run(&packets, &run) == 1; ++*runs) {
        struct interner own = {0};
        struct pftrace_reader *other = pftrace_reader_new(&own);
        assert_true(run.begins && !run.goes_on && run.first == (*runs == 0));
        pftrace_take(other, &run);
        while (pftrace_next(other, &next) == 1) {
            if (next->what != PFTRACE_SLICE)
                continue;
            assert_string_equal(next->name, next->is_head ? "add(float*)" : "cudaLaunchKernel");
            assert_int_equal(next->start, next->is_head ? 100 * slices : 100 * slices + 50);
            slices++;
        }
        assert_int_equal(pftrace_left_out(other), 0);
        pftrace_close(other);
        interner_release(&own);
    }
    assert_int_equal(run.end, PACKETS_ENDED);
    packets_run_release(&run);
    packets_close(&packets);
    return slices;
}

UNIT_TEST_WITH(test_sections_ask_for_nothing_before_them, set_up, tear_down)
{
    enum { SLICES = 100000 };
    size_t runs;
    for (uint64_t i = 0; i < SLICES; i++)
        write_slice(i % 2 ? call(100 * i + 50, 100 * i + 60) : kernel(100 * i, 100 * i + 30));
    sink.format->finish(&sink);
    assert_int_equal(buffer.failure, 0);
    assert_int_equal(count_by_runs(&runs), SLICES);
    assert_in_range(runs, buffer.length >> 20, (buffer.length >> 19) + 1);
    assert_true(runs > 3);
    open_written(buffer.length);
    for (uint64_t i = 0; i < SLICES; i++)
        next_is(PFTRACE_SLICE);
    no_more();
}

/* What somebody else wrote has no sections: a run goes on where the one before it ended, be it within an event. */
UNIT_TEST_WITH(test_a_long_section_is_read_in_several_runs, set_up, tear_down)
{
    static char text[100000];
    struct args args;
    struct slice slice = call(0, 10);
    memset(text, 'x', sizeof(text));
    for (int i = 0; i < 20; i++) {
        args.count = 0;
        struct arg *arg = args_add(&args, ARG_DETAIL, ARG_TYPE_TEXT);
        arg->text = text;
        arg->length = sizeof(text) - (size_t)i;
        slice.args = &args;
        write_slice(slice);
    }
    sink.format->finish(&sink);
    buffer.length = remove_sections(buffer.data, buffer.length);
    open_written(buffer.length);
    for (size_t i = 0; i < 20; i++) {
        next_slice_is(0, 10);
        assert_int_equal(arg("detail")->length, sizeof(text) - i);
        assert_memory_equal(arg("detail")->text, text, sizeof(text) - i);
    }
    no_more();
}

UNIT_TEST_WITH(test_a_cut_file_gives_what_is_whole, set_up, tear_down)
{
    write_slice(call(0, 10));
    write_slice(call(20, 30));
    sink.format->finish(&sink);
    open_written(buffer.length - MARK_BYTES - 1);
    next_slice_is(0, 10);
    unit_stderr_begin();
    int more = read_next();
    assert_non_null(strstr(unit_stderr_end(), "is cut off at byte"));
    assert_int_equal(more, 0);
}

/* What is printed while SIZE bytes from START on of what was written are read. */
static const char *read_part(size_t start, size_t size)
{
    memmove(buffer.data, buffer.data + start, size);
    open_written(size);
    unit_stderr_begin();
    while (read_next() > 0)
        ;
    pftrace_file_close(&reading);
    return unit_stderr_end();
}

UNIT_TEST_WITH(test_a_file_that_is_cut_between_packets_is_noticed, set_up, tear_down)
{
    size_t head, size;
    write_slice(call(0, 10));
    write_slice(call(20, 30));
    sink.format->finish(&sink);
    for (size_t at = 0; at < buffer.length; at += head + size) {
        if (at > 0)
            assert_non_null(strstr(read_part(0, at), "is cut off at byte"));
        assert_int_equal(packets_frame((const uint8_t *)buffer.data + at, buffer.length - at, &head, &size), 1);
    }
    assert_string_equal(read_part(0, buffer.length), "");
}

/* Nor do other programs announce a last packet. */
UNIT_TEST_WITH(test_a_file_that_announces_no_last_packet_may_lack_it, set_up, tear_down)
{
    write_slice(call(0, 10));
    sink.format->finish(&sink);
    assert_string_equal(read_part(MARK_BYTES, buffer.length - 2 * MARK_BYTES), "");
}

UNIT_TEST_WITH(test_another_file_is_an_error, set_up, tear_down)
{
    buffer.length = 0; /* of what begin() wrote */
    buffer_text(&buffer, "{\"traceEvents\":[]}");
    open_written(buffer.length);
    unit_stderr_begin();
    int more = read_next();
    assert_non_null(strstr(unit_stderr_end(), "no packet begins at byte 0"));
    assert_int_equal(more, -1);
}

UNIT_MAIN(NULL, NULL)
