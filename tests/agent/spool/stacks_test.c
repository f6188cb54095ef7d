/*
 * Call stacks. Here the whole test is what libgputrace.so is elsewhere, for the library is linked into it; what stands
 * for the program, and for a plugin, is in shared libraries made for the test.
 */

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <sys/wait.h>

#include "agent/dispatch/registry.h"
#include "agent/spool/stacks.h"
#include "agent/spool/writer.h"
#include "tests/agent/main/made_plugin.h"
#include "tests/agent/spool_reading.h"

typedef uint32_t take_fn(void);
typedef uint32_t call_fn(take_fn *take);
typedef uint32_t deep_fn(take_fn *take, unsigned depth);

static char *spool, directory[256];
static call_fn *outer, *inner, *in_plugin;
static deep_fn *deep;

/* What is done after a call keeps the compiler from jumping instead. */
static const char program[] = "typedef unsigned take_fn(void);\n"
                              "static volatile unsigned after;\n"
                              "unsigned inner(take_fn *take);\n"
                              "unsigned outer(take_fn *take);\n"
                              "unsigned deep(take_fn *take, unsigned depth);\n"
                              "__attribute__((noinline)) unsigned inner(take_fn *take)\n"
                              "{ unsigned stack = take(); after++; return stack; }\n"
                              "unsigned outer(take_fn *take) { unsigned stack = inner(take); after++; return stack; }\n"
                              "unsigned deep(take_fn *take, unsigned depth)\n"
                              "{ unsigned stack = depth ? deep(take, depth - 1) : take(); after++; return stack; }\n";
static const char plugin[] = "typedef unsigned take_fn(void);\n"
                             "static volatile unsigned after;\n"
                             "unsigned in_plugin(take_fn *take);\n"
                             "unsigned in_plugin(take_fn *take) { unsigned stack = take(); after++; return stack; }\n";

static void *find(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    assert_non_null(symbol);
    return symbol;
}

static void *open_made(const char *name, const char *source)
{
    void *library = dlopen(make_library(directory, name, source), RTLD_NOW);
    assert_non_null(library);
    return library;
}

UNIT_FIXTURE(prepare)
{
    spool = new_directory();
    snprintf(directory, sizeof(directory), "%s", unit_directory());
    void *library = open_made("program", program);
    *(void **)&outer = find(library, "outer");
    *(void **)&inner = find(library, "inner");
    *(void **)&deep = find(library, "deep");
    *(void **)&in_plugin = find(open_made("plugin", plugin), "in_plugin");
    stacks_prepare();
    return chunks_open(spool, 0);
}

UNIT_FIXTURE(tidy)
{
    unit_remove(directory);
    unit_remove(spool);
    free(spool);
    return 0;
}

static uint32_t take(void)
{
    return stacks_record(0);
}

static uint32_t take_without_one(void)
{
    return stacks_record(1);
}

/* The record of stack NUMBER, the last of that number. */
static const struct spool_stack *stack_of(uint32_t number)
{
    struct reading reading = read_spool(spool, getpid());
    const struct spool_stack *found = NULL, *stack;
    for (unsigned i = 0; (stack = find_record(&reading, SPOOL_RECORD_STACK, i)); i++)
        found = stack->stack == number ? stack : found;
    assert_non_null(found);
    return found;
}

static uint64_t address_of(const struct spool_stack *stack, unsigned frame)
{
    uint64_t address;
    assert_true((frame + 1) * sizeof(address) <= stack->length);
    memcpy(&address, stack->text + frame * sizeof(address), sizeof(address));
    return address;
}

static void assert_frame(uint32_t number, unsigned frame, const char *function)
{
    Dl_info info;
    uint64_t address = address_of(stack_of(number), frame) - (frame > 0);
    assert_true(dladdr((void *)(uintptr_t)address, &info) != 0 && info.dli_sname);
    assert_string_equal(info.dli_sname, function);
}

UNIT_TEST(a_stack_begins_with_the_program_and_goes_outwards)
{
    uint32_t number = outer(take);
    assert_true(number > 0);
    assert_frame(number, 0, "inner");
    assert_frame(number, 1, "outer");
}

/* The address of the first frame is of a call, not behind it: nothing is taken from it to find its line. */
UNIT_TEST(the_first_address_is_of_the_call_itself)
{
    uint64_t first = address_of(stack_of(outer(take)), 0);
    uint64_t of_same = address_of(stack_of(inner(take)), 0);
    assert_true(first == of_same);
    const unsigned char *behind = (const unsigned char *)(uintptr_t)(first + 1);
#if defined(__aarch64__)
    uint32_t call; /* blr of a register */
    memcpy(&call, behind - sizeof(call), sizeof(call));
    assert_int_equal(call & 0xfffffc1f, 0xd63f0000);
#else
    /* call *%reg is two bytes that end here; it may have a prefix. */
    assert_true(behind[-2] == 0xff && (behind[-1] & 0xf8) == 0xd0);
#endif
}

UNIT_TEST(the_same_stack_has_the_same_number)
{
    uint32_t numbers[3];
    for (unsigned i = 0; i < 3; i++)
        numbers[i] = outer(take);
    assert_true(numbers[0] > 0 && numbers[0] == numbers[1] && numbers[1] == numbers[2]);
    assert_int_not_equal(outer(take), numbers[0]); /* called from another line */
    struct reading reading = read_spool(spool, getpid());
    unsigned written = 0;
    const struct spool_stack *stack;
    for (unsigned i = 0; (stack = find_record(&reading, SPOOL_RECORD_STACK, i)); i++)
        written += stack->stack == numbers[0];
    assert_int_equal(written, 1);
}

UNIT_TEST(frames_can_be_skipped)
{
    assert_frame(outer(take_without_one), 0, "outer");
    assert_int_equal(stacks_record(10000), 0);
}

/* What a callback does, and how it was reached, is left out: gputrace, the plugin, gputrace, the program. */
static uint32_t of_callback;

static void marked(void *data, const struct gputrace_nvtx *what)
{
    (void)what;
    of_callback = ((call_fn *)in_plugin)(*(take_fn **)data);
}

static uint32_t publish(void)
{
    registry_nvtx_mark_publish(&(struct gputrace_nvtx_mark){0});
    return of_callback;
}

UNIT_TEST(in_a_callback_the_plugin_is_left_out)
{
    take_fn *function = take;
    uint64_t registration =
        registry_add(REGISTRY_FIRST_PLUGIN, REGISTRY_nvtx_mark, (gputrace_any_fn *)marked, &function);
    uint32_t number = outer(publish);
    assert_true(number > 0);
    assert_frame(number, 0, "inner");
    assert_frame(number, 1, "outer");
    function = take_without_one;
    assert_frame(outer(publish), 0, "outer");
    assert_int_equal(registry_remove(REGISTRY_FIRST_PLUGIN, registration), 0);
}

UNIT_TEST(outside_of_callbacks_it_is_not)
{
    assert_frame(in_plugin(take), 0, "in_plugin");
}

UNIT_TEST(outer_frames_beyond_the_most_are_left_out)
{
    uint32_t number = deep(take, 200);
    assert_int_equal(stack_of(number)->length, STACK_FRAMES_MAX * sizeof(uint64_t));
    assert_frame(number, 0, "deep");
    assert_frame(number, STACK_FRAMES_MAX - 1, "deep");
}

/* Whether a line of maps that was recorded covers ADDRESS, and names NAME. */
static bool is_mapped(uint64_t address, const char *name)
{
    struct reading reading = read_spool(spool, getpid());
    const struct spool_mapping *mapping;
    for (unsigned i = 0; (mapping = find_record(&reading, SPOOL_RECORD_MAPPING, i)); i++) {
        uint64_t start, end;
        char line[4096];
        snprintf(line, sizeof(line), "%.*s", (int)mapping->length, mapping->text);
        assert_int_equal(sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end), 2);
        assert_null(strchr(line, '\n'));
        if (address >= start && address < end && strstr(line, name))
            return true;
    }
    return false;
}

UNIT_TEST(every_address_lies_in_a_mapping_that_was_reported)
{
    const struct spool_stack *stack = stack_of(outer(take));
    for (unsigned i = 0; i < stack->length / sizeof(uint64_t); i++)
        assert_true(is_mapped(address_of(stack, i) - (i > 0), i < 2 ? "/program.so" : ""));
}

UNIT_TEST(a_mapping_is_reported_once)
{
    struct reading reading = read_spool(spool, getpid());
    unsigned before = count_records(&reading, SPOOL_RECORD_MAPPING);
    assert_true(before > 0);
    outer(take);
    assert_int_equal(count_records(&reading, SPOOL_RECORD_MAPPING), before);
}

UNIT_TEST(libraries_that_come_later_are_reported)
{
    call_fn *later;
    void *library = open_made("later", plugin);
    *(void **)&later = find(library, "in_plugin");
    const struct spool_stack *stack = stack_of(later(take));
    assert_true(is_mapped(address_of(stack, 0), "/later.so"));
    dlclose(library);
    library = open_made("last", plugin); /* likely to lie where the other did */
    *(void **)&later = find(library, "in_plugin");
    stack = stack_of(later(take));
    assert_true(is_mapped(address_of(stack, 0), "/last.so"));
    dlclose(library);
}

static void *take_many(void *number)
{
    for (unsigned i = 0; i < 500; i++)
        *(uint32_t *)number = deep(take, i % 20);
    return NULL;
}

UNIT_TEST(threads_take_stacks_at_the_same_time)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    uint32_t numbers[THREADS] = {0};
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_many, &numbers[i]), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < THREADS; i++)
        assert_true(numbers[i] > 0 && numbers[i] == numbers[0]);
}

UNIT_TEST(a_forked_child_begins_anew)
{
    struct reading reading = read_spool(spool, getpid());
    unsigned mappings = count_records(&reading, SPOOL_RECORD_MAPPING);
    pid_t child = fork();
    if (child == 0) {
        stacks_atfork_child(); /* the spool stays: what is written into it is to be seen */
        fork_watch_announced();
        _exit(outer(take) == 1 && count_records(&reading, SPOOL_RECORD_MAPPING) > mappings ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

UNIT_MAIN(prepare, tidy)
