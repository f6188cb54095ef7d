/*
 * Which interpreters are read: versions, builds, and one that says it is known but has other things in its memory.
 */
#include "common/python_layout.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

#include "agent/python/frames.h"
#include "tests/agent/main/made_plugin.h"
#include "tests/unit.h"

static struct python_layout layout;

UNIT_TEST(versions_from_3_8_on_have_layouts)
{
    static const uint64_t runtime[1];
    for (unsigned minor = 8; minor <= 12; minor++) {
        assert_true(python_layout(&layout, PYTHON_VERSION(3, minor), runtime));
        assert_int_equal(layout.version, PYTHON_VERSION(3, minor));
    }
    assert_false(python_layout(&layout, PYTHON_VERSION(3, 7), runtime));
    assert_false(python_layout(&layout, PYTHON_VERSION(3, 15), runtime));
    assert_false(python_layout(&layout, PYTHON_VERSION(2, 7), runtime));
}

/* What 3.14 has at the begin of _PyRuntime. */
static void make_runtime(uint64_t runtime[128])
{
    static const struct {
        unsigned at;
        uint64_t value;
    } values[] = {{1, 0x030e00f0}, {26, 72},  {27, 152}, {32, 8},   {33, 0},  {34, 56}, {36, 74}, {40, 112},
                  {42, 128},       {43, 136}, {44, 68},  {48, 208}, {76, 32}, {78, 32}, {80, 40}};
    memset(runtime, 0, 128 * sizeof(*runtime));
    memcpy(runtime, "xdebugpy", 8);
    for (unsigned i = 0; i < sizeof(values) / sizeof(*values); i++)
        runtime[values[i].at] = values[i].value;
}

UNIT_TEST(from_3_13_on_the_interpreter_says_where_things_are)
{
    uint64_t runtime[128];
    make_runtime(runtime);
    assert_true(python_layout(&layout, PYTHON_VERSION(3, 14), runtime));
    assert_int_equal(layout.state.frame, 72);
    assert_int_equal(layout.state.thread, 152);
    assert_int_equal(layout.frame.instruction, 56);
    assert_int_equal(layout.frame.owner, 74);
    assert_int_equal(layout.code.name, 128);
    assert_int_equal(layout.code.bytecode, 208);
    assert_int_equal(layout.text.compact, 56);
}

UNIT_TEST(builds_that_differ_are_not_read)
{
    static const struct {
        unsigned at;
        uint64_t value;
    } wrong[] = {{0, 0}, {1, 0x030d00f0}, {2, 1}, {27, 100000}, {76, 40}, {78, 40}};
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        uint64_t runtime[128];
        make_runtime(runtime);
        runtime[wrong[i].at] = wrong[i].value;
        assert_false(python_layout(&layout, PYTHON_VERSION(3, 14), runtime));
    }
}

/* --- an interpreter whose memory is not what its version says --- */

static const char interpreter[] =
    "#include <pthread.h>\n"
    "#include <stddef.h>\n"
    "#include <stdint.h>\n"
    "uint64_t _PyRuntime[128], state[64], PyCode_Type[64], PyUnicode_Type[64], PyBytes_Type[64];\n"
    "int initialized = 1;\n"
    "int Py_IsInitialized(void);\n"
    "const char *Py_GetVersion(void);\n"
    "void *PyGILState_GetThisThreadState(void), *_PyThreadState_UncheckedGet(void);\n"
    "void *PyInterpreterState_Main(void), *PyInterpreterState_Head(void);\n"
    "int Py_IsInitialized(void) { return initialized; }\n"
    "const char *Py_GetVersion(void) { return \"3.11.2 (main) [made]\"; }\n"
    "void *PyGILState_GetThisThreadState(void) { return state; }\n"
    "void *_PyThreadState_UncheckedGet(void) { return NULL; }\n"
    "void *PyInterpreterState_Main(void) { return NULL; }\n"
    "void *PyInterpreterState_Head(void) { return NULL; }\n";

static unsigned refusals;
static char refused_version[32];

static bool record(const struct python_frame *frame)
{
    (void)frame;
    fail_msg("a frame was read");
    return false;
}

static void refuse(const char *version)
{
    refusals++;
    snprintf(refused_version, sizeof(refused_version), "%s", version);
}

static void *find(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    assert_non_null(symbol);
    return symbol;
}

UNIT_TEST(without_an_interpreter_nothing_is_read)
{
    struct python_stack stack;
    python_begin(record, refuse);
    assert_false(python_find(1));
    assert_int_equal(python_frames(&stack), 0);
    assert_int_equal(refusals, 0);
}

UNIT_TEST(an_interpreter_with_other_memory_is_refused_once_and_without_harm)
{
    const char *directory = unit_directory();
    struct python_stack stack;
    void *library = dlopen(make_library(directory, "libpython3.11", interpreter), RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    assert_false(python_find(1)); /* nothing was loaded since, as far as it is known */
    assert_true(python_find(2));
    uint64_t *thread = find(library, "state");
    void *gone = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(gone, 4096);

    assert_int_equal(python_frames(&stack), 0); /* the state is of another thread */
    thread[152 / 8] = (uint64_t)pthread_self();
    *(int *)find(library, "initialized") = 0;
    thread[56 / 8] = (uint64_t)(uintptr_t)gone;
    assert_int_equal(python_frames(&stack), 0); /* it ends, and another thread does that */
    assert_int_equal(refusals, 0);
    *(int *)find(library, "initialized") = 1;
    assert_int_equal(python_frames(&stack), 0);
    assert_int_equal(refusals, 1);
    assert_string_equal(refused_version, "3.11.2");
    assert_int_equal(python_frames(&stack), 0);
    assert_false(python_find(3));
    assert_int_equal(refusals, 1);
    unit_remove(directory);
}

UNIT_MAIN(NULL, NULL)
