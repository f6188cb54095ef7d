/*
 * Frames of a made interpreter, which has the memory of CPython 3.12 and nothing else of it. frames.bats reads those of
 * real ones.
 */

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "agent/dispatch/registry.h"
#include "agent/main/crash_handler.h"
#include "agent/python/frames.h"
#include "tests/agent/main/made_plugin.h"
#include "tests/unit.h"

static const char interpreter[] = "#include <stddef.h>\n"
                                  "#include <stdint.h>\n"
                                  "uint64_t _PyRuntime[1], PyCode_Type[8], PyUnicode_Type[8], PyBytes_Type[8];\n"
                                  "void *own, *attached;\n"
                                  "int initialized = 1;\n"
                                  "int Py_IsInitialized(void);\n"
                                  "const char *Py_GetVersion(void);\n"
                                  "void *PyGILState_GetThisThreadState(void), *_PyThreadState_UncheckedGet(void);\n"
                                  "void *PyInterpreterState_Main(void), *PyInterpreterState_Head(void);\n"
                                  "int Py_IsInitialized(void) { return initialized; }\n"
                                  "const char *Py_GetVersion(void) { return \"3.12.3 (main) [made]\"; }\n"
                                  "void *PyGILState_GetThisThreadState(void) { return own; }\n"
                                  "void *_PyThreadState_UncheckedGet(void) { return attached; }\n"
                                  "void *PyInterpreterState_Main(void) { return NULL; }\n"
                                  "void *PyInterpreterState_Head(void) { return NULL; }\n";

/* Objects, by the words of their memory. */
struct text {
    uint64_t words[5];
    char characters[64];
};
struct code {
    uint64_t words[24]; /* then the bytecode */
    uint64_t bytecode[8];
};
struct frame {
    uint64_t words[10];
};

static uint64_t thread_state[32], c_frame[2];
static uint64_t line_table[5] = {
    [2] = 2, [4] = 0x0085}; /* eight units: the first 6 of the first line; 1 byte follows */
static struct text file, names[2];
static struct code code;
static struct frame frames[200];
static void **own, **attached;
static int *initialized;
static uint64_t *code_type, *text_type;

static struct {
    unsigned count;
    bool rejects;
    char function[64], file[64];
    uint32_t line;
} recorded;

static uint64_t at(const void *object)
{
    return (uint64_t)(uintptr_t)object;
}

static bool record(const struct python_frame *frame)
{
    recorded.count++;
    snprintf(recorded.function, sizeof(recorded.function), "%.*s", (int)frame->function.length, frame->function.bytes);
    snprintf(recorded.file, sizeof(recorded.file), "%.*s", (int)frame->file.length, frame->file.bytes);
    recorded.line = frame->line;
    return !recorded.rejects;
}

static void refuse(const char *version)
{
    fail_msg("%s was refused", version);
}

static void make_text(struct text *text, const char *characters)
{
    *text = (struct text){.words = {1, at(text_type), strlen(characters), (uint64_t)-1, 1 << 2 | 1 << 5 | 1 << 6}};
    snprintf(text->characters, sizeof(text->characters), "%s", characters);
}

static void put_half(uint64_t *words, unsigned offset, uint32_t value)
{
    memcpy((char *)words + offset, &value, sizeof(value));
}

/* A frame that OUTER called, at INSTRUCTION of the code. */
static void make_frame(struct frame *frame, const struct frame *outer, unsigned instruction)
{
    *frame = (struct frame){.words = {at(&code), at(outer), [7] = at(code.bytecode) + 2 * instruction}};
}

static void make_shim(struct frame *frame, const struct frame *outer)
{
    *frame = (struct frame){.words = {0, at(outer)}};
    ((unsigned char *)frame)[70] = 3;
}

/* Innermost two functions in a C call, then one in another. */
static void make_stack(void)
{
    make_shim(&frames[4], NULL);
    make_frame(&frames[3], &frames[4], 2);
    make_shim(&frames[2], &frames[3]);
    make_frame(&frames[1], &frames[2], 1);
    make_frame(&frames[0], &frames[1], 0);
    c_frame[0] = at(&frames[0]);
}

static uint64_t *find(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    assert_non_null(symbol);
    return symbol;
}

UNIT_FIXTURE(begin)
{
    const char *directory = unit_directory();
    void *library = dlopen(make_library(directory, "libpython3.12", interpreter), RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    unit_remove(directory);
    own = (void **)find(library, "own");
    attached = (void **)find(library, "attached");
    initialized = (int *)find(library, "initialized");
    code_type = find(library, "PyCode_Type");
    text_type = find(library, "PyUnicode_Type");
    code_type[4] = sizeof(code.words);
    line_table[1] = at(find(library, "PyBytes_Type"));
    make_text(&file, "/home/me/model.py");
    make_text(&names[0], "Model.forward");
    make_text(&names[1], "Model.reverse");
    code.words[1] = at(code_type);
    code.words[2] = 32;
    code.words[14] = at(&file);
    code.words[16] = at(&names[0]);
    code.words[17] = at(line_table);
    put_half(code.words, 68, 10);
    put_half(code.words, 92, 777);
    thread_state[136 / 8] = (uint64_t)pthread_self();
    thread_state[56 / 8] = at(c_frame);
    *own = thread_state;
    make_stack();
    python_begin(record, refuse);
    return python_find(1) ? 0 : -1;
}

static unsigned number(const struct python_stack *stack, unsigned i)
{
    assert_true(stack->words[i] >> 48 == SPOOL_STACK_PYTHON);
    return (unsigned)stack->words[i];
}

UNIT_TEST(functions_have_names_lines_and_the_places_of_their_c_calls)
{
    struct python_stack stack;
    assert_int_equal(python_frames(&stack), 3);
    assert_int_equal(number(&stack, 0), 1);
    assert_string_equal(recorded.function, "Model.forward");
    assert_string_equal(recorded.file, "/home/me/model.py");
    assert_int_equal(recorded.line, 10);
    assert_true(stack.places[0] == at(&frames[2]) && stack.places[1] == stack.places[0]);
    assert_true(stack.places[2] == at(&frames[4]));
}

/* All three instructions are of one line. */
UNIT_TEST(a_line_of_a_function_has_one_number_and_is_recorded_once)
{
    struct python_stack stack;
    unsigned before = recorded.count;
    python_frames(&stack);
    assert_true(number(&stack, 0) == number(&stack, 1) && number(&stack, 1) == number(&stack, 2));
    assert_int_equal(recorded.count, before);
    assert_int_equal(recorded.count, 1);
}

UNIT_TEST(other_code_at_the_same_address_is_read_anew)
{
    struct python_stack stack;
    code.words[16] = at(&names[1]);
    put_half(code.words, 92, 778);
    python_frames(&stack);
    assert_int_equal(number(&stack, 0), 2);
    assert_string_equal(recorded.function, "Model.reverse");
    code.words[16] = at(&names[0]);
    put_half(code.words, 92, 779);
    python_frames(&stack);
    assert_int_equal(number(&stack, 0), 1);
}

/* Where the versions were used up, what the code says is compared. */
UNIT_TEST(code_without_a_version_is_known_by_its_contents)
{
    struct python_stack stack;
    put_half(code.words, 92, 0);
    python_frames(&stack);
    assert_int_equal(number(&stack, 0), 1);
    memcpy(names[0].characters, "Other.forward", 13);
    names[0].words[3] = 12345; /* its hash */
    python_frames(&stack);
    assert_string_equal(recorded.function, "Other.forward");
    assert_int_equal(number(&stack, 0), 3);
    make_text(&names[0], "Model.forward");
    put_half(code.words, 92, 777);
}

UNIT_TEST(a_function_that_has_not_begun_is_left_out)
{
    struct python_stack stack;
    put_half(code.words, 176, 1); /* instructions before its own */
    assert_int_equal(python_frames(&stack), 2);
    ((unsigned char *)&frames[0])[70] = 1; /* a generator has begun before */
    assert_int_equal(python_frames(&stack), 3);
    put_half(code.words, 176, 0);
    make_stack();
}

UNIT_TEST(what_is_no_code_is_not_read)
{
    struct python_stack stack;
    static const uint64_t other[2];
    frames[1].words[0] = at(other);
    frames[3].words[0] = 0;
    assert_int_equal(python_frames(&stack), 3);
    assert_int_equal(number(&stack, 0), 1);
    assert_int_equal(number(&stack, 1), 0);
    assert_int_equal(number(&stack, 2), 0);
    make_stack();
}

UNIT_TEST(a_name_that_is_no_usual_string_is_empty)
{
    struct python_stack stack;
    static struct text odd;
    make_text(&odd, "subclass");
    odd.words[1] = at(code_type);
    code.words[16] = at(&odd);
    put_half(code.words, 92, 780);
    python_frames(&stack);
    assert_string_equal(recorded.function, "");
    assert_string_equal(recorded.file, "/home/me/model.py");
    code.words[16] = at(&names[0]);
    put_half(code.words, 92, 777);
}

UNIT_TEST(the_outermost_of_too_many_are_left_out)
{
    struct python_stack stack;
    enum { COUNT = sizeof(frames) / sizeof(*frames) };
    make_shim(&frames[COUNT - 1], NULL);
    for (unsigned i = COUNT - 1; i-- > 0;)
        make_frame(&frames[i], &frames[i + 1], i % 3);
    assert_int_equal(python_frames(&stack), PYTHON_FRAMES_MAX);
    assert_int_equal(number(&stack, PYTHON_FRAMES_MAX - 1), 1);
    make_stack();
}

UNIT_TEST(a_state_of_another_thread_is_not_read)
{
    struct python_stack stack;
    thread_state[136 / 8]++;
    assert_int_equal(python_frames(&stack), 0);
    thread_state[136 / 8]--;
    *own = NULL;
    assert_int_equal(python_frames(&stack), 0);
    *own = thread_state;
    assert_int_equal(python_frames(&stack), 3);
}

UNIT_TEST(while_the_interpreter_ends_only_the_thread_that_ends_it_has_frames)
{
    struct python_stack stack;
    *initialized = 0;
    assert_int_equal(python_frames(&stack), 0);
    *attached = thread_state;
    assert_int_equal(python_frames(&stack), 3);
    *initialized = 1;
}

/* The interpreter ends while a thread without the GIL reads. */
static void take_away(uint64_t *word)
{
    struct python_stack stack;
    uint64_t before = *word;
    void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page, 4096);
    *word = at(page) + 64;
    assert_int_equal(python_frames(&stack), 0);
    assert_int_equal(stack.count, 0);
    *word = before;
    assert_int_equal(python_frames(&stack), 3);
}

UNIT_TEST(memory_that_is_gone_gives_no_frames)
{
    struct sigaction before[2], standard = {.sa_handler = SIG_DFL}; /* the test's own handlers */
    sigaction(SIGSEGV, &standard, &before[0]);
    sigaction(SIGBUS, &standard, &before[1]);
    crash_handler_install_for_spool();
    make_stack();
    take_away(&frames[0].words[1]); /* the frame that called it */
    take_away(&frames[1].words[0]); /* its code */
    put_half(code.words, 68, 70);   /* other code, whose names are read under the lock */
    take_away(&code.words[14]);
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    assert_false(sigismember(&blocked, SIGSEGV));
    sigaction(SIGSEGV, &before[0], NULL);
    sigaction(SIGBUS, &before[1], NULL);
}

UNIT_TEST(a_frame_that_was_not_recorded_is_tried_again)
{
    struct python_stack stack;
    put_half(code.words, 68, 50);
    put_half(code.words, 92, 781);
    recorded.rejects = true;
    python_frames(&stack);
    assert_int_equal(number(&stack, 0), 0);
    recorded.rejects = false;
    python_frames(&stack);
    assert_int_not_equal(number(&stack, 0), 0);
    assert_int_equal(recorded.line, 50);
}

UNIT_TEST(in_a_forked_child_numbers_begin_anew)
{
    struct python_stack stack;
    unsigned before = recorded.count;
    pid_t child = fork();
    if (child == 0) {
        python_atfork_child();
        fork_watch_announced();
        python_frames(&stack);
        _exit(stack.count == 3 && number(&stack, 0) == 1 && recorded.count == before + 1 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

UNIT_MAIN(begin, NULL)
