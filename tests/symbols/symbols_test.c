#include "tests/unit.h"

#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "symbols/symbols.h"

/*
 * The process whose addresses get names is this one: functions that tell where they are called from, and on which line.
 */
#define APART __attribute__((noinline, noclone))

struct place {
    uint64_t address; /* a return address */
    uint32_t line;
};

APART static uint64_t caller(void)
{
    uint64_t address = (uintptr_t)__builtin_return_address(0);
    __asm__ volatile("" : "+r"(address));
    return address;
}

#define HERE ((struct place){.line = __LINE__, .address = caller()})

APART static struct place in_a_static_function(void)
{
    struct place place = HERE;
    return place;
}

struct place in_a_function(void);
APART struct place in_a_function(void)
{
    struct place place = HERE;
    return place;
}

/* What a C++ compiler calls gputrace::test(int). */
struct place in_cxx(int number) __asm__("_ZN8gputrace4testEi");
APART struct place in_cxx(int number)
{
    struct place place = HERE;
    place.line += (uint32_t)number;
    return place;
}

__attribute__((always_inline)) static inline struct place inlined_call(void)
{
    struct place place = HERE;
    return place;
}

__attribute__((always_inline)) static inline struct place outer_inlined_call(uint32_t *line)
{
    return *line = __LINE__, inlined_call();
}

APART static struct place with_inlined_calls(uint32_t *middle, uint32_t *outer)
{
    struct place place;
    *outer = __LINE__, place = outer_inlined_call(middle);
    return place;
}

/* --- */

static struct symbols *symbols;
static char maps_text[1 << 20];

UNIT_FIXTURE(begin)
{
    symbols = symbols_new(clock_now());
    return symbols ? 0 : -1;
}

UNIT_FIXTURE(end)
{
    symbols_free(symbols);
    return 0;
}

static struct mapping_text text_of(const char *text)
{
    return (struct mapping_text){.pid = (uint32_t)getpid(), .text = text, .length = strlen(text)};
}

static struct mapping_text own_mappings(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    assert_non_null(file);
    size_t length = fread(maps_text, 1, sizeof(maps_text) - 1, file);
    assert_true(length < sizeof(maps_text) - 1);
    maps_text[length] = '\0';
    fclose(file);
    return text_of(maps_text);
}

/* The name of a return address: frame 1 of a stack whose frame 0 is nowhere. */
static struct stack_frame named_in(const struct mapping_text *maps, uint64_t address)
{
    uint64_t addresses[] = {0, address};
    struct stack_frame frames[] = {{.address = 0}, {.address = address}};
    struct frame_namer namer = symbols_namer(symbols);
    assert_int_equal(namer.name(namer.data, maps, addresses, 2, frames), 0);
    assert_null(frames[0].module);
    assert_int_equal(frames[1].address, address);
    return frames[1];
}

static struct stack_frame named(uint64_t address)
{
    struct mapping_text maps = own_mappings();
    return named_in(&maps, address);
}

static const char *base_name(const char *path)
{
    assert_non_null(path);
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void assert_place(const struct stack_frame *frame, const char *function, uint32_t line)
{
    assert_non_null(frame->function);
    assert_string_equal(frame->function, function);
    assert_string_equal(base_name(frame->file), "symbols_test.c");
    assert_int_equal(frame->line, line);
}

UNIT_TEST_WITH(functions_have_their_names_and_lines, begin, end)
{
    struct place place = in_a_static_function();
    struct stack_frame frame = named(place.address);
    assert_place(&frame, "in_a_static_function", place.line);
    assert_string_equal(base_name(frame.module), "symbols_test");
    assert_int_equal(*frame.file, '/');
    assert_int_equal(frame.inlined_count, 0);
    place = in_a_function();
    frame = named(place.address);
    assert_place(&frame, "in_a_function", place.line);
}

UNIT_TEST_WITH(cxx_names_are_readable, begin, end)
{
    struct place place = in_cxx(0);
    struct stack_frame frame = named(place.address);
    assert_place(&frame, "gputrace::test(int)", place.line);
}

UNIT_TEST_WITH(inlined_calls_are_distinguished_from_the_innermost_on, begin, end)
{
    uint32_t middle, outer;
    struct place place = with_inlined_calls(&middle, &outer);
    struct stack_frame frame = named(place.address);
    assert_place(&frame, "with_inlined_calls", outer);
    assert_int_equal(frame.inlined_count, 2);
    assert_place(&frame.inlined[0], "inlined_call", place.line);
    assert_place(&frame.inlined[1], "outer_inlined_call", middle);
}

/* The first frame is of a call, not behind it: an address that is the first of a function belongs to it. */
UNIT_TEST_WITH(the_first_frame_is_looked_up_as_it_is, begin, end)
{
    struct mapping_text maps = own_mappings();
    uint64_t addresses[] = {(uintptr_t)in_a_function, (uintptr_t)in_a_function};
    struct stack_frame frames[] = {{.address = addresses[0]}, {.address = addresses[1]}};
    struct frame_namer namer = symbols_namer(symbols);
    assert_int_equal(namer.name(namer.data, &maps, addresses, 2, frames), 0);
    assert_string_equal(frames[0].function, "in_a_function");
    assert_true(!frames[1].function || strcmp(frames[1].function, "in_a_function") != 0);
    assert_int_equal(frames[1].offset, frames[0].offset);
}

UNIT_TEST_WITH(a_stripped_library_has_what_it_exports, begin, end)
{
    struct stack_frame frame = named((uintptr_t)_assert_true + 1);
    assert_string_equal(frame.function, "_assert_true");
    assert_contains(frame.module, "libcmocka");
    assert_true(frame.offset > 0);
}

UNIT_TEST_WITH(code_without_a_file_is_an_address, begin, end)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    struct stack_frame frame = named((uintptr_t)page + 16);
    assert_null(frame.module);
    assert_null(frame.function);
    munmap(page, 4096);
    frame = named(16); /* nowhere at all */
    assert_null(frame.module);
}

/* --- files that are not what was mapped --- */

static const char *folder;

UNIT_FIXTURE(begin_files)
{
    folder = unit_directory();
    return begin(state);
}

UNIT_FIXTURE(end_files)
{
    unit_remove(folder);
    return end(state);
}

/* The line of this program's mapping that ADDRESS lies in, as if it were of the file at PATH. */
static struct mapping_text mapped_from(const char *path, uint64_t inode, uint64_t address)
{
    static char line[PATH_MAX + 100];
    struct mapping_text maps = own_mappings();
    unsigned long start = 0, last = 0, offset = 0;
    for (const char *at = maps.text; at && *at; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
        if (sscanf(at, "%lx-%lx %*s %lx", &start, &last, &offset) == 3 && address >= start && address < last)
            break;
    assert_true(address >= start && address < last);
    snprintf(line, sizeof(line), "%lx-%lx r-xp %08lx 08:01 %lu      %s\n", start, last, offset, (unsigned long)inode,
             path);
    return text_of(line);
}

/* This program's file once more. Returns its number. */
static uint64_t copy_program(const char *path)
{
    char command[2 * PATH_MAX], self[PATH_MAX];
    struct stat status;
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    assert_true(length > 0);
    self[length] = '\0';
    snprintf(command, sizeof(command), "cp '%s' '%s'", self, path);
    assert_int_equal(system(command), 0);
    assert_int_equal(stat(path, &status), 0);
    return status.st_ino;
}

static void use_symbols_since(uint64_t since)
{
    symbols_free(symbols);
    symbols = symbols_new(since);
    assert_non_null(symbols);
}

static void assert_module_alone(const char *path, uint64_t inode, uint64_t address)
{
    struct mapping_text maps = mapped_from(path, inode, address);
    struct stack_frame whole = named(address), frame = named_in(&maps, address);
    assert_string_equal(frame.module, path);
    assert_int_equal(frame.offset, whole.offset);
    assert_null(frame.function);
    assert_null(frame.file);
    assert_int_equal(frame.line, 0);
}

UNIT_TEST_WITH(a_file_that_is_gone_leaves_module_and_offset, begin, end)
{
    struct place place = in_a_function();
    assert_module_alone("/no/such/file", 1234, place.address);
    assert_module_alone("/tmp/gone.so (deleted)", 1234, place.address);
    assert_module_alone("[vdso]", 0, place.address);
}

UNIT_TEST_WITH(a_file_that_was_replaced_meanwhile_is_not_believed, begin_files, end_files)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/program", folder);
    use_symbols_since(clock_now() - NS_PER_S);
    uint64_t inode = copy_program(path);
    struct place place = in_a_function();
    assert_module_alone(path, inode + 1, place.address);
}

UNIT_TEST_WITH(a_file_made_meanwhile_is_believed, begin_files, end_files)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/program", folder);
    use_symbols_since(clock_now() - NS_PER_S);
    uint64_t inode = copy_program(path);
    struct place place = in_a_function();
    struct mapping_text maps = mapped_from(path, inode, place.address);
    struct stack_frame frame = named_in(&maps, place.address);
    assert_place(&frame, "in_a_function", place.line);
    assert_string_equal(frame.module, path);
}

/* On overlay file systems the numbers differ. */
UNIT_TEST_WITH(a_file_that_was_there_before_is_believed, begin_files, end_files)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/program", folder);
    uint64_t inode = copy_program(path);
    use_symbols_since(clock_now() + NS_PER_S);
    struct place place = in_a_function();
    struct mapping_text maps = mapped_from(path, inode + 1, place.address);
    struct stack_frame frame = named_in(&maps, place.address);
    assert_place(&frame, "in_a_function", place.line);
}

UNIT_TEST_WITH(what_is_no_program_names_nothing, begin_files, end_files)
{
    char path[PATH_MAX];
    struct stat status;
    struct place place = in_a_function();
    snprintf(path, sizeof(path), "%s/text", folder);
    unit_write_file(path, "\177ELF, it says");
    assert_int_equal(stat(path, &status), 0);
    assert_module_alone(path, status.st_ino, place.address);
    snprintf(path, sizeof(path), "%s/cut", folder);
    copy_program(path);
    assert_int_equal(truncate(path, 3000), 0);
    assert_int_equal(stat(path, &status), 0);
    assert_module_alone(path, status.st_ino, place.address);
    snprintf(path, sizeof(path), "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(stat(path, &status), 0);
    assert_module_alone(path, status.st_ino, place.address); /* and does not wait for a writer */
    assert_int_equal(stat(folder, &status), 0);
    assert_module_alone(folder, status.st_ino, place.address);
}

UNIT_TEST_WITH(nonsense_between_the_lines_is_passed_over, begin, end)
{
    struct place place = in_a_function();
    struct mapping_text own = own_mappings();
    char *text = malloc(own.length + 200);
    assert_non_null(text);
    snprintf(text, own.length + 200, "nonsense\n-\n\n0-ffffffffffffffff ---p 00000000 00:00 0 \n%s%s", own.text,
             "\1\2\3");
    struct mapping_text maps = text_of(text);
    struct stack_frame frame = named_in(&maps, place.address);
    assert_place(&frame, "in_a_function", place.line);
    maps = text_of("");
    frame = named_in(&maps, place.address);
    assert_null(frame.module);
    free(text);
}

UNIT_TEST_WITH(another_process_has_its_own_mappings, begin, end)
{
    struct place place = in_a_function();
    struct mapping_text maps = own_mappings();
    struct stack_frame frame = named_in(&maps, place.address);
    assert_string_equal(frame.function, "in_a_function");
    struct mapping_text other = mapped_from("/no/such/file", 1234, place.address);
    maps = other; /* at the same place */
    frame = named_in(&maps, place.address);
    assert_null(frame.function);
    maps = own_mappings();
    frame = named_in(&maps, place.address);
    assert_string_equal(frame.function, "in_a_function");
}

UNIT_TEST_WITH(nobody_is_asked_over_the_network, begin, end)
{
    setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1", 1);
    use_symbols_since(0);
    assert_null(getenv("DEBUGINFOD_URLS"));
}

UNIT_MAIN(NULL, NULL)
