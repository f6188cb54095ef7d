/*
 * What Python's threads do, read from an interpreter that is made in this process.
 */
#include "tests/unit.h"

#include <errno.h>
#include <unistd.h>

#include "common/spool_records.h"
#include "perf/python_process.h"

#define MS UINT64_C(1000000)
#define TID 77u
#define ASCII 0x64 /* a compact string with one byte for each character */

struct text {
    uint64_t references, type, length, hash;
    uint32_t state;
    char characters[60];
};

struct table {
    uint64_t references, type, length, hash;
    unsigned char bytes[8];
};

struct code {
    uint64_t references, type, size;
    const struct text *name, *file;
    const struct table *lines;
    uint32_t first_line, version;
    uint64_t unused;
    uint64_t traceable, unused2;
    uint16_t bytecode[16];
};

struct frame {
    const struct code *code;
    const struct frame *previous;
    uint64_t instruction;
    uint64_t owner;
};

struct state {
    uint64_t previous;
    const struct state *next;
    uint64_t interpreter, thread, tid;
    const struct frame *frame;
};

struct made_interpreter {
    uint64_t next;
    const struct state *threads;
};

static const int code_type, text_type;
static struct text names[3], file;
static struct table lines;
static struct code codes[3];
static struct frame frames[3];
static struct state states[2];
static struct made_interpreter interpreter;
static const struct made_interpreter *runtime;
static struct python_process *process;

static uint64_t address(const void *object)
{
    return (uint64_t)(uintptr_t)object;
}

static void make_text(struct text *text, const char *characters)
{
    *text = (struct text){.type = address(&text_type), .length = strlen(characters), .state = ASCII};
    strcpy(text->characters, characters);
}

static void make_call(int i, const struct frame *caller)
{
    frames[i] = (struct frame){&codes[i], caller, address(&codes[i].bytecode[1]), 0};
}

UNIT_FIXTURE(begin)
{
    static const char *const called[] = {"inner", "outer", "other"};
    const struct python_reader reader = {
        .pid = (uint32_t)getpid(),
        .layout = {.frames = PYTHON_SHIM_FRAMES,
                   .lines = PYTHON_LOCATIONS,
                   .interpreter = {.threads = offsetof(struct made_interpreter, threads)},
                   .state = {.thread = offsetof(struct state, thread), .frame = offsetof(struct state, frame)},
                   .frame = {.previous = offsetof(struct frame, previous),
                             .code = offsetof(struct frame, code),
                             .instruction = offsetof(struct frame, instruction),
                             .owner = offsetof(struct frame, owner)},
                   .code = {.first_line = offsetof(struct code, first_line),
                            .file = offsetof(struct code, file),
                            .name = offsetof(struct code, name),
                            .line_table = offsetof(struct code, lines),
                            .version = offsetof(struct code, version),
                            .bytecode = offsetof(struct code, bytecode)},
                   .text = {.ascii = offsetof(struct text, characters)}},
        .runtime = address(&runtime),
        .code_type = address(&code_type),
        .text_type = address(&text_type),
        .frame_bytes = sizeof(struct frame),
        .state_bytes = sizeof(struct state),
    };
    /* Two code units of the first line, eight of the next. */
    lines = (struct table){.length = 4, .bytes = {0x80 | 13 << 3 | 1, 0, 0x80 | 13 << 3 | 7, 2}};
    make_text(&file, "/home/me/train.py");
    for (int i = 0; i < 3; i++) {
        make_text(&names[i], called[i]);
        codes[i] = (struct code){.type = address(&code_type),
                                 .name = &names[i],
                                 .file = &file,
                                 .lines = &lines,
                                 .first_line = 10 + 10 * (uint32_t)i,
                                 .version = 1 + (uint32_t)i};
    }
    make_call(0, &frames[1]);
    make_call(1, NULL);
    make_call(2, NULL);
    states[0] = (struct state){.next = &states[1], .tid = TID, .frame = &frames[0]};
    states[1] = (struct state){.tid = TID + 1, .frame = &frames[2]};
    interpreter.threads = &states[0];
    runtime = &interpreter;
    process = python_process_new(&reader, reader.pid);
    return process ? 0 : -1;
}

UNIT_FIXTURE(end)
{
    python_process_free(process);
    return 0;
}

/* Of the thread TID from FROM to TO, ms: "inner:10 outer:20". */
static const char *stack_in(uint32_t tid, uint64_t from, uint64_t to)
{
    static char text[256];
    const uint64_t *words = NULL;
    size_t count = python_process_at(process, tid, from * MS, to * MS, &words);
    *text = '\0';
    for (size_t i = 0; i < count; i++) {
        char line[PYTHON_LINE_BYTES];
        const struct python_line *known = python_process_line(process, words[i]);
        assert_non_null(known);
        size_t bytes = python_process_text(process, known, line);
        assert_int_equal(bytes, strlen(line) + 1 + strlen("/home/me/train.py"));
        assert_memory_equal(line + strlen(line) + 1, "/home/me/train.py", strlen("/home/me/train.py"));
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s:%u", i ? " " : "", line, known->line);
    }
    return text;
}

static const char *stack_at(uint32_t tid, uint64_t time)
{
    return stack_in(tid, time, time);
}

static void tick(uint64_t time)
{
    assert_int_equal(python_process_tick(process, time * MS, MS), 0);
}

UNIT_TEST_WITH(each_thread_has_its_functions_and_their_lines, begin, end)
{
    tick(1000);
    assert_string_equal(stack_at(TID, 1000), "inner:10 outer:20");
    assert_string_equal(stack_at(TID + 1, 1001), "other:30");
    assert_string_equal(stack_at(TID + 2, 1000), "");
    frames[0].instruction = address(&codes[0].bytecode[5]);
    tick(1010);
    assert_string_equal(stack_at(TID, 1010), "inner:11 outer:20");
}

UNIT_TEST_WITH(a_caller_that_goes_on_has_another_line, begin, end)
{
    tick(1000);
    frames[1].instruction = address(&codes[1].bytecode[5]);
    tick(1010);
    assert_string_equal(stack_at(TID, 1010), "inner:10 outer:21");
    states[0].frame = &frames[1];
    tick(1020);
    assert_string_equal(stack_at(TID, 1020), "outer:21");
}

UNIT_TEST_WITH(frames_of_c_calls_and_of_functions_that_have_not_begun_are_left_out, begin, end)
{
    frames[0].owner = PYTHON_OWNED_BY_C;
    tick(1000);
    assert_string_equal(stack_at(TID, 1000), "outer:20");
    frames[0].owner = 0;
    codes[0].traceable = 3;
    codes[0].version = 9;
    states[0].frame = &frames[1];
    tick(1500);
    states[0].frame = &frames[0];
    tick(2000);
    assert_string_equal(stack_at(TID, 2000), "outer:20");
    frames[0].owner = PYTHON_OWNED_BY_GENERATOR;
    frames[0].instruction += 2;
    tick(3000);
    assert_string_equal(stack_at(TID, 3000), "inner:11 outer:20");
}

UNIT_TEST_WITH(of_the_import_machinery_the_outermost_function_is_kept, begin, end)
{
    static struct text importlib;
    make_text(&importlib, "<frozen importlib._bootstrap>");
    codes[0].file = &importlib;
    tick(1000);
    assert_string_equal(stack_at(TID, 1000), "outer:20");
    make_text(&names[0], "_find_and_load");
    codes[0].version = 9;
    states[0].frame = NULL;
    tick(1001);
    states[0].frame = &frames[0];
    tick(1002);
    const uint64_t *words;
    assert_int_equal(python_process_at(process, TID, 1002 * MS, 1002 * MS, &words), 2);
}

UNIT_TEST_WITH(the_nearer_tick_counts, begin, end)
{
    tick(1000);
    states[0].frame = &frames[1];
    tick(1003);
    assert_string_equal(stack_at(TID, 999), "inner:10 outer:20");
    assert_string_equal(stack_at(TID, 1001), "inner:10 outer:20");
    assert_string_equal(stack_at(TID, 1002), "outer:20");
    assert_string_equal(stack_at(TID, 1005), "outer:20");
    /* too far from any */
    assert_string_equal(stack_at(TID, 997), "");
    assert_string_equal(stack_at(TID, 1006), "");
}

UNIT_TEST_WITH(of_a_wait_a_tick_within_it_counts, begin, end)
{
    tick(1000);
    states[0].frame = &frames[1];
    tick(1030);
    assert_string_equal(stack_in(TID, 1001, 1040), "outer:20"); /* though the one before was nearer to its begin */
    assert_string_equal(stack_in(TID, 1001, 1003), "inner:10 outer:20");
    assert_string_equal(stack_in(TID, 1027, 1028), "outer:20");
    assert_string_equal(stack_in(TID, 1010, 1020), ""); /* none is near */
}

UNIT_TEST_WITH(code_that_takes_the_place_of_other_code_is_seen, begin, end)
{
    tick(1000);
    states[0].frame = NULL;
    tick(1001);
    make_text(&names[1], "later");
    codes[1].version = 50;
    codes[1].first_line = 90;
    states[0].frame = &frames[0];
    tick(1002);
    assert_string_equal(stack_at(TID, 1000), "inner:10 outer:20");
    assert_string_equal(stack_at(TID, 1002), "inner:10 later:90");
}

UNIT_TEST_WITH(memory_that_is_something_else_ends_the_stack, begin, end)
{
    frames[1].previous = (const void *)16;
    codes[0].type = 0; /* no code */
    tick(1000);
    assert_string_equal(stack_at(TID, 1000), "outer:20");
    frames[1].previous = &frames[0]; /* in a circle */
    states[1].next = &states[0];
    tick(1010);
    assert_int_not_equal(*stack_at(TID, 1010), '\0');
    states[0].frame = (const void *)16;
    tick(1020);
    assert_string_equal(stack_at(TID, 1020), "");
    runtime = (const void *)16;
    tick(1030);
    assert_string_equal(stack_at(TID + 1, 1030), "");
}

UNIT_TEST_WITH(a_process_that_has_ended_is_not_read_again, begin, end)
{
    process->reader.pid = 90000001; /* no system has it */
    assert_int_equal(python_process_tick(process, 1000 * MS, MS), -1);
    assert_int_equal(errno, ESRCH);
    assert_int_equal(python_process_tick(process, 1001 * MS, MS), 0);
}

UNIT_TEST_WITH(a_forked_process_is_read_by_its_own_number, begin, end)
{
    tick(1000);
    struct python_process *forked = python_process_new(&process->reader, (uint32_t)getpid());
    python_process_free(process);
    process = forked;
    assert_string_equal(stack_at(TID, 1000), "");
    tick(1010);
    assert_string_equal(stack_at(TID, 1010), "inner:10 outer:20");
}

UNIT_TEST_WITH(of_threads_that_come_and_go_the_last_are_known, begin, end)
{
    for (uint32_t i = 0; i < 10000; i++) {
        states[1].tid = TID + 1 + i;
        tick(1000 + i);
    }
    assert_true(process->threads.count < 1000);
    assert_string_equal(stack_at(TID + 10000, 1000 + 9999), "other:30");
    assert_string_equal(stack_at(TID + 9900, 1000 + 9899), "other:30");
    assert_string_equal(stack_at(TID + 1, 1000), "");
    assert_string_equal(stack_at(TID, 1000 + 9999), "inner:10 outer:20"); /* always there */
}

UNIT_TEST_WITH(many_changes_leave_the_last_ones, begin, end)
{
    for (uint64_t i = 0; i < 2 * PYTHON_SEEN_MOST; i++) {
        states[0].frame = &frames[i % 2];
        tick(1000 + i);
    }
    assert_string_equal(stack_at(TID, 1000 + 2 * PYTHON_SEEN_MOST - 1), "outer:20");
    assert_string_equal(stack_at(TID, 1000 + 2 * PYTHON_SEEN_MOST - 2), "inner:10 outer:20");
    assert_string_equal(stack_at(TID, 1000), "");
}

UNIT_MAIN(NULL, NULL)
