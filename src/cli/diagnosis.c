/*
 * Forks a child for each library, which loads it, calls its functions, and writes the answer to shared memory. Finds
 * the likely cause of an empty trace by the command line, the program's file, and notes in the spool directory.
 */
#include "cli/diagnosis.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "common/memory.h"
#include "common/spool.h"
#include "launch/program.h"
#include "symbols/elf_file.h"
#include "trace/meaning/passes/passes.h"

/* Memory that both processes share. The child sets `whole` when the answer is complete. */
struct shared {
    volatile bool whole;
    alignas(max_align_t) char answer[];
};

static _Noreturn void be_child(void (*ask)(const void *, void *), const void *question, struct shared *shared)
{
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    struct rlimit none = {0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0);
    signal(SIGALRM, SIG_DFL);
    alarm(PROBE_SECONDS);
    ask(question, shared->answer);
    shared->whole = true;
    _exit(0); /* without the exit handlers of loaded libraries */
}

enum probe_end probe(void (*ask)(const void *, void *), const void *question, void *answer, size_t size)
{
    size_t bytes = sizeof(struct shared) + size;
    memset(answer, 0, size);
    struct shared *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return PROBE_NOT_ASKED;
    pid_t child = fork();
    if (child == 0)
        be_child(ask, question, shared);
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    enum probe_end end = PROBE_CRASHED;
    if (child < 0)
        end = PROBE_NOT_ASKED;
    else if (shared->whole)
        end = PROBE_ANSWERED;
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        end = PROBE_TOO_SLOW;
    memcpy(answer, shared->answer, size); /* after a crash: the part that was written before */
    munmap(shared, bytes);
    return end;
}

static void *load_library(const char *path, char *words, size_t size)
{
    char where[PATH_MAX];
    bool open = strchr(path, '/') && world_writable(path, where);
    void *handle = open ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (open)
        snprintf(words, size, "it is not loaded, because everybody can write to '%.180s'", where);
    else if (!handle)
        snprintf(words, size, "%s", dlerror());
    return handle;
}

/* Stores function NAME of HANDLE in VARIABLE by memcpy(), because C has no conversion from the void * of dlsym(). */
#define LOOK_UP(handle, variable, name)                 \
    do {                                                \
        void *symbol = dlsym((handle), (name));         \
        memcpy(&(variable), &symbol, sizeof(variable)); \
    } while (0)

static void question_driver(const void *question, void *out)
{
    struct driver_answer *answer = out;
    unsetenv("CUDA_INJECTION64_PATH"); /* the driver must not load another tool's library */
    void *handle = load_library(question, answer->words, sizeof(answer->words));
    if (!handle)
        return;
    int (*init)(unsigned flags), (*get_version)(int *), (*get_count)(int *), (*get_device)(int *, int);
    int (*get_name)(char *, int, int), (*get_words)(int, const char **);
    LOOK_UP(handle, init, "cuInit");
    LOOK_UP(handle, get_version, "cuDriverGetVersion");
    LOOK_UP(handle, get_count, "cuDeviceGetCount");
    LOOK_UP(handle, get_device, "cuDeviceGet");
    LOOK_UP(handle, get_name, "cuDeviceGetName");
    LOOK_UP(handle, get_words, "cuGetErrorString");
    answer->loaded = init && get_version && get_count && get_device && get_name;
    if (!answer->loaded) {
        snprintf(answer->words, sizeof(answer->words), "it lacks functions of CUDA's driver");
        return;
    }
    get_version(&answer->version);
    answer->result = init(0);
    const char *words = NULL;
    if (answer->result != 0 && get_words && get_words(answer->result, &words) == 0 && words)
        snprintf(answer->words, sizeof(answer->words), "%s", words);
    int device;
    if (answer->result == 0 && get_count(&answer->devices) == 0 && answer->devices > 0 && get_device(&device, 0) == 0)
        get_name(answer->device, (int)sizeof(answer->device), device);
}

void ask_driver(struct driver_answer *answer)
{
    answer->end = probe(question_driver, "libcuda.so.1", answer, sizeof(*answer));
}

/* The callback for cuptiSubscribe(). It is never called, because no callback is enabled. */
static void on_callback(void *context, int domain, uint32_t cbid, const void *data)
{
    (void)context, (void)domain, (void)cbid, (void)data;
}

static void question_cupti(const void *question, void *out)
{
    struct cupti_answer *answer = out;
    void *handle = load_library(question, answer->words, sizeof(answer->words));
    if (!handle)
        return;
    struct link_map *map = NULL;
    dlinfo(handle, RTLD_DI_LINKMAP, &map);
    snprintf(answer->path, sizeof(answer->path), "%s", map ? map->l_name : (const char *)question);
    int (*get_version)(uint32_t *), (*unsubscribe)(void *), (*get_words)(int, const char **);
    int (*subscribe)(void **, void (*)(void *, int, uint32_t, const void *), void *);
    LOOK_UP(handle, get_version, "cuptiGetVersion");
    LOOK_UP(handle, subscribe, "cuptiSubscribe");
    LOOK_UP(handle, unsubscribe, "cuptiUnsubscribe");
    LOOK_UP(handle, get_words, "cuptiGetResultString");
    answer->loaded = get_version && subscribe && unsubscribe && get_words;
    if (!answer->loaded) {
        snprintf(answer->words, sizeof(answer->words), "it lacks functions of CUPTI");
        return;
    }
    get_version(&answer->version);
    void *subscriber = NULL;
    answer->result = subscribe(&subscriber, on_callback, NULL);
    const char *words = NULL;
    if (answer->result == 0)
        unsubscribe(subscriber);
    else if (get_words(answer->result, &words) == 0 && words)
        snprintf(answer->words, sizeof(answer->words), "%s", words);
}

void ask_cupti(const char *path, struct cupti_answer *answer)
{
    answer->end = probe(question_cupti, path, answer, sizeof(*answer));
}

static void question_library(const void *question, void *out)
{
    struct library_answer *answer = out;
    void *handle = load_library(question, answer->words, sizeof(answer->words));
    answer->loaded = handle != NULL;
    answer->cuda = handle && dlsym(handle, "InitializeInjection");
    answer->nvtx = handle && dlsym(handle, "InitializeInjectionNvtx2");
}

void ask_library(const char *path, struct library_answer *answer)
{
    answer->end = probe(question_library, path, answer, sizeof(*answer));
}

/* --- why a trace is empty --- */

void run_empty_note_nested(void)
{
    char path[PATH_MAX];
    const char *outer = getenv("GPUTRACE_SPOOL");
    int length = outer ? snprintf(path, sizeof(path), "%s/" SPOOL_NESTED_FILE, outer) : -1;
    int fd = length < 0 || (size_t)length >= sizeof(path) ? -1 : open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

/* Programs and options that start other programs without gputrace's environment variables. The first row always does;
 * the others are reported for empty traces only. */
static const struct {
    const char *does, *starters[14];
} ways[] = {
    {"starts programs without the environment variables that load the recorder",
     {"env -i", "env -", "env --ignore-environment", "exec -c", "sudo", "doas", "setpriv --reset-env", "su -", "su -l",
      "su --login", "runuser -", "runuser -l", "bwrap --clearenv", NULL}},
    {"starts programs in a container",
     {"docker", "podman", "nerdctl", "apptainer", "singularity", "enroot", "kubectl", NULL}},
    {"starts programs on other hosts", {"ssh", "srun", "pdsh", NULL}},
    {"lets another process start programs", {"systemd-run", NULL}},
};
#define SEPARATORS " \t\n;&|()'\""

/* Reads the next word of a command line, which may be in an argument of a shell, and moves *AT behind it. Returns false
 * at the end. */
static bool next_word(char *const **argv, const char **at, char *word, size_t space)
{
    while (**argv) {
        *at = *at ? *at : **argv;
        *at += strspn(*at, SEPARATORS);
        size_t length = strcspn(*at, SEPARATORS);
        if (length > 0) {
            snprintf(word, space, "%.*s", length < space ? (int)length : 0, *at);
            *at += length;
            return true;
        }
        (*argv)++;
        *at = NULL;
    }
    return false;
}

/* Warns of the first program in the command line that starts others where they are not recorded. Returns whether it
 * warned. */
static bool warn_of_starter(const char *program, char *const *argv, bool empty)
{
    char word[PATH_MAX], name[64] = "", text[128], begin[PATH_MAX + 64] = "";
    const char *at = NULL;
    size_t count = empty ? sizeof(ways) / sizeof(*ways) : 1;
    if (empty)
        snprintf(begin, sizeof(begin), "'%s' used neither CUDA nor NVTX, and ", program);
    while (next_word(&argv, &at, word, sizeof(word))) {
        bool is_option = *word == '-';
        if (!is_option)
            snprintf(name, sizeof(name), "%.63s", program_name(word));
        snprintf(text, sizeof(text), "%s%s%.60s", name, is_option ? " " : "", is_option ? word : "");
        if (strstr(word, "_INJECTION64_PATH")) { /* "CUDA_INJECTION64_PATH", "--unset=NVTX_INJECTION64_PATH" */
            warning("%s'%s' changes by what programs load the recorder: without it they are not recorded", begin, word);
            return true;
        }
        for (size_t i = 0; i < count; i++)
            for (const char *const *starter = ways[i].starters; *starter; starter++)
                if (strcmp(text, *starter) == 0) {
                    bool login = strncmp(text, "su ", 3) == 0 || strncmp(text, "runuser ", 8) == 0;
                    warning("%s'%s' %s, which are not recorded: start gputrace behind it, as in '%s ... %s'", begin,
                            text, ways[i].does, text, login ? "-c \"gputrace run PROGRAM\"" : "gputrace run PROGRAM");
                    return true;
                }
    }
    return false;
}

/* Initialises CUDA in a child process. Returns whether that fails, and writes the reason into WORDS: "CUDA found no
 * driver". */
static bool lacks_cuda(char *words, size_t size)
{
    enum { NO_DEVICE = 100 }; /* CUDA_ERROR_NO_DEVICE */
    struct driver_answer driver;
    ask_driver(&driver);
    if (driver.end == PROBE_NOT_ASKED)
        return false;
    if (driver.end != PROBE_ANSWERED)
        snprintf(words, size, "the CUDA driver %s when it is initialised",
                 driver.end == PROBE_CRASHED ? "crashes" : "hangs");
    else if (!driver.loaded)
        snprintf(words, size, "CUDA found no driver");
    else if (driver.result == NO_DEVICE || (driver.result == 0 && driver.devices == 0))
        snprintf(words, size, "CUDA found no GPU");
    else
        snprintf(words, size, "the CUDA driver cannot be initialised (%d: %s)", driver.result, driver.words);
    return driver.end != PROBE_ANSWERED || driver.result != 0 || driver.devices == 0;
}

void run_empty_warn(const struct run_program *run, const struct convert_summary *summary)
{
    const char *program = run->argv[0];
    bool empty = summary->processes == 0;
    const char *torch = run->torch ? ", and no process of Python (3.8 or newer) loaded PyTorch" : "";
    struct elf_facts facts = elf_facts_read(run->path);
    char words[512], nested[PATH_MAX];
    int length = snprintf(nested, sizeof(nested), "%s/" SPOOL_NESTED_FILE, run->directory);
    if (length > 0 && (size_t)length < sizeof(nested) && access(nested, F_OK) == 0)
        warning("'%s' started another gputrace: what that one ran is in its trace and not in this one", program);
    else if (empty && facts.is_static)
        warning("'%s' is statically linked: nothing can be loaded into it, and %s", program,
                summary->cpu ? "the trace has only what --cpu records" : "nothing was recorded");
    else if (empty && run->ranks && summary->losses.unrecorded == 0)
        warning("no process that used CUDA or NVTX was one of the ranks '%s' (--ranks)", run->ranks);
    else if (empty && facts.is_for_musl)
        warning("'%s' is for the C library musl: libgputrace.so, which is for glibc, cannot be loaded into it",
                program);
    else if (empty && summary->losses.unrecorded > 0)
        return;
    else if (warn_of_starter(program, run->argv, empty) || (!empty && (summary->cuda || !facts.has_kernels)))
        return;
    else if (lacks_cuda(words, sizeof(words)))
        warning("%s, and '%s' %s%s%s: 'gputrace doctor' says what CUDA needs", words, program,
                empty ? "used no NVTX" : "was recorded without it", empty ? torch : "",
                !empty         ? ""
                : summary->cpu ? ", so the trace has only what --cpu records"
                               : ", so the trace is empty");
    else if (empty && !summary->cpu)
        warning("'%s' used neither CUDA nor NVTX%s: the trace is empty; what it starts without the environment "
                "variables of gputrace is not recorded",
                program, torch);
}
