/*
 * Finds CPython in the process, its version and the layout of its structs (common/python_layout.h), and the state of
 * the calling thread. Before frames are used, the layout is proved against real frames of the thread.
 */
#include "agent/python/frames.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/memory.h"

/* --- finding functions --- */

static bool find_functions(struct interpreter *python, void *object)
{
    *(void **)&python->own_state = dlsym(object, "PyGILState_GetThisThreadState");
    *(void **)&python->attached_state = dlsym(object, "_PyThreadState_UncheckedGet");
    if (!python->attached_state)
        *(void **)&python->attached_state = dlsym(object, "PyThreadState_GetUnchecked");
    *(void **)&python->is_initialized = dlsym(object, "Py_IsInitialized");
    *(void **)&python->main_interpreter = dlsym(object, "PyInterpreterState_Main");
    *(void **)&python->newest_interpreter = dlsym(object, "PyInterpreterState_Head");
    python->code = (uint64_t)(uintptr_t)dlsym(object, "PyCode_Type");
    python->text = (uint64_t)(uintptr_t)dlsym(object, "PyUnicode_Type");
    python->data = (uint64_t)(uintptr_t)dlsym(object, "PyBytes_Type");
    return python->own_state && python->attached_state && python->is_initialized && python->main_interpreter &&
           python->newest_interpreter && python->code && python->text && python->data;
}

/* --- finding the version --- */

/* Returns the version, or 0 if it is unknown. The text is "3.11.2 (main, …) [GCC …]". */
static unsigned read_version(struct interpreter *python, void *object)
{
    const char *(*get)(void);
    unsigned major = 0, minor = 0;
    *(void **)&get = dlsym(object, "Py_GetVersion");
    const char *version = get ? get() : "";
    snprintf(python->version, sizeof(python->version), "%.*s", (int)strcspn(version, " "), version);
    bool released = !strpbrk(python->version, "ab"); /* layouts of 3.13.0a1, b1 differ from releases' */
    if (sscanf(version, "%u.%u", &major, &minor) != 2 || !released)
        return 0;
    return PYTHON_VERSION(major, minor);
}

static void find_loop(struct interpreter *python, void *object)
{
    void *loop = dlsym(object, "_PyEval_EvalFrameDefault");
    const ElfW(Sym) *symbol = NULL;
    Dl_info info;
    if (!loop || !dladdr1(loop, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
        return;
    const char *slash = strrchr(info.dli_fname, '/');
    python->loop = (uint64_t)(uintptr_t)loop;
    python->loop_end = python->loop + symbol->st_size;
    python->owns_image = strstr(slash ? slash : info.dli_fname, "python") != NULL;
}

enum interpreter_found interpreter_find(struct interpreter *python)
{
    memset(python, 0, sizeof(*python));
    char path[PATH_MAX];
    void *object = RTLD_DEFAULT;
    const uint64_t *runtime = dlsym(object, "_PyRuntime");
    if (!runtime && library_is_loaded("libpython3", path)) { /* a program may have loaded it with local symbols */
        object = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
        runtime = object ? dlsym(object, "_PyRuntime") : NULL;
    }
    if (!runtime)
        return INTERPRETER_NONE;
    unsigned version = read_version(python, object);
    find_loop(python, object);
    bool known = version != 0 && find_functions(python, object) && python_layout(&python->layout, version, runtime);
    return known ? INTERPRETER_FOUND : INTERPRETER_UNKNOWN;
}

/* --- the thread's state --- */

/* Copies memory that may not be mapped. Returns false if it is not mapped, or /proc/self/mem cannot be opened. */
static bool memory_copy(void *to, uint64_t from, uint64_t size)
{
    int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    if (memory < 0)
        return false;
    bool copied = pread(memory, to, size, (off_t)from) == (ssize_t)size;
    close(memory);
    return copied;
}

/* Not checked by the thread sanitizer: another thread may end the interpreter meanwhile, which frees the state
 * (agent/python/frames.h). */
__attribute__((no_sanitize("thread"))) static uint64_t thread_of(const char *state, uint64_t offset)
{
    return *(const volatile uint64_t *)(const void *)(state + offset);
}

const char *interpreter_thread(const struct interpreter *python)
{
    const char *own = python->own_state();
    if (!own)
        return NULL;
    if (!python->is_initialized()) /* only the last thread, which ends the interpreter and holds the GIL, may be here */
        return python->attached_state() == own ? own : NULL;
    /* A thread's own variable has its state in the interpreter that it entered first. Up to 3.11, a thread that runs
     * code of a subinterpreter has another state then, only to be found in the variable that all threads share. If the
     * state there belongs to another thread, that thread may free it, so it is copied by a system call first. */
    uint64_t thread, this_thread = (uint64_t)pthread_self(), offset = python->layout.state.thread;
    const char *shared = python->layout.version < PYTHON_VERSION(3, 12) ? python->attached_state() : NULL;
    if (shared && shared != own && python->newest_interpreter() != python->main_interpreter() &&
        memory_copy(&thread, (uint64_t)(uintptr_t)shared + offset, sizeof(thread)) && thread == this_thread)
        own = shared;
    return thread_of(own, offset) == this_thread ? own : NULL;
}

/* --- the proof --- */

static bool copy_word(uint64_t *value, uint64_t from)
{
    return memory_copy(value, from, sizeof(*value));
}

static bool is_of_type(uint64_t object, uint64_t type)
{
    uint64_t its;
    return object != 0 && object % sizeof(its) == 0 && copy_word(&its, object + PYTHON_TYPE) && its == type;
}

static bool has(uint64_t code, uint64_t offset, uint64_t type)
{
    uint64_t object;
    return copy_word(&object, code + offset) && is_of_type(object, type);
}

/* Whether the instruction, an address or an offset, is within the code. */
static bool is_within(const struct interpreter *python, uint64_t code, uint64_t instruction)
{
    uint64_t bytes = python->layout.code.bytecode, size;
    if (python->layout.frames == PYTHON_FRAME_OBJECTS) {
        uint64_t object;
        return copy_word(&object, code + bytes) && is_of_type(object, python->data) &&
               copy_word(&size, object + PYTHON_SIZE) && ((int32_t)instruction == -1 || (uint32_t)instruction < size);
    }
    return copy_word(&size, code + PYTHON_SIZE) && instruction + 2 >= code + bytes &&
           instruction < code + bytes + size * 2;
}

#define FRAMES_PROVED 16

/* Whether FRAME fits the layout; a frame that belongs to no function does. Sets *PREVIOUS, and counts frames of
 * functions. */
static bool is_good_frame(const struct interpreter *python, uint64_t frame, uint64_t *previous, unsigned *functions)
{
    const struct python_layout *layout = &python->layout;
    uint64_t code, instruction, size;
    unsigned char owner = 0;
    bool read = copy_word(previous, frame + layout->frame.previous) && copy_word(&code, frame + layout->frame.code) &&
                copy_word(&instruction, frame + layout->frame.instruction) &&
                (layout->frame.owner == 0 || memory_copy(&owner, frame + layout->frame.owner, 1));
    if (!read || owner >= PYTHON_OWNED_BY_C)
        return read && owner < 8;
    ++*functions;
    code &= ~UINT64_C(3); /* 3.14 stores marks in the low bits */
    return is_of_type(code, python->code) && copy_word(&size, python->code + PYTHON_TYPE_BASICSIZE) &&
           size == layout->code.size && has(code, layout->code.file, python->text) &&
           has(code, layout->code.name, python->text) && has(code, layout->code.line_table, python->data) &&
           is_within(python, code, instruction);
}

enum interpreter_proof interpreter_prove(const struct interpreter *python, const char *thread)
{
    const struct python_layout *layout = &python->layout;
    uint64_t frame = (uint64_t)(uintptr_t)thread, previous;
    unsigned functions = 0;
    bool through = layout->state.c_frame != 0 && layout->frames != PYTHON_FRAME_OBJECTS;
    if (through && !copy_word(&frame, frame + layout->state.c_frame))
        return PROOF_BAD;
    if (!copy_word(&frame, frame + layout->state.frame))
        return PROOF_BAD;
    for (unsigned i = 0; frame != 0 && i < FRAMES_PROVED; i++, frame = previous)
        if (!is_good_frame(python, frame, &previous, &functions))
            return PROOF_BAD;
    return functions > 0 ? PROOF_GOOD : PROOF_NO_FRAMES;
}
