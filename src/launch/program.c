/*
 * Finds the program as execvp(3) would, and our own library. Finds the file of each plugin in the folders of plugins,
 * and checks its settings against those that the plugin names. Finds the libraries to preload and puts them into
 * LD_PRELOAD, behind a sanitizer's library if one is there, which must be first.
 */
#include "launch/program.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/log.h"
#include "common/memory.h"
#include "common/text.h"
#include "launch/launch.h"
#include "symbols/elf_file.h"

/* Returns 0 for a file that may be run, else errno. */
static int check(const char *path)
{
    struct stat file;
    if (stat(path, &file) != 0)
        return errno;
    if (S_ISDIR(file.st_mode))
        return EISDIR;
    return access(path, X_OK) == 0 ? 0 : errno;
}

static bool absent(int failure)
{
    return failure == ENOENT || failure == ENOTDIR;
}

/* Finds NAME in PATH as a shell does. Returns 0 or an errno; the errno of a file that cannot be run comes before
 * ENOENT, because it explains more. */
static int search_path(const char *name, char *path, size_t space)
{
    const char *list = getenv("PATH");
    int worst = ENOENT;
    for (const char *folder = list ? list : "/usr/local/bin:/usr/bin:/bin"; *name;) {
        size_t length = strcspn(folder, ":");
        int size = snprintf(path, space, "%.*s/%s", length ? (int)length : 1, length ? folder : ".", name);
        int failure = size > 0 && (size_t)size < space ? check(path) : ENOENT;
        if (failure == 0)
            return 0;
        if (!absent(failure) && failure != EISDIR)
            worst = failure;
        if (!folder[length])
            break;
        folder += length + 1;
    }
    return worst;
}

bool program_is_there(const char *name)
{
    char path[PATH_MAX];
    return (strchr(name, '/') ? check(name) : search_path(name, path, sizeof(path))) == 0;
}

/* --- the interpreter of a script --- */

const char *program_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* Returns the interpreter of scripts with the ending of PATH, or NULL if the ending is not known. */
static const char *interpreter_of(const char *path)
{
    char found[PATH_MAX];
    static const struct {
        const char *ending, *names[2]; /* names[1] is used if names[0] is not installed */
    } known[] = {{".py", {"python", "python3"}}, {".sh", {"sh", "sh"}},       {".bash", {"bash", "bash"}},
                 {".pl", {"perl", "perl"}},      {".jl", {"julia", "julia"}}, {".R", {"Rscript", "Rscript"}},
                 {".lua", {"lua", "luajit"}},    {".rb", {"ruby", "ruby"}},   {".js", {"node", "nodejs"}}};
    const char *ending = strrchr(program_name(path), '.');
    for (size_t i = 0; ending && i < sizeof(known) / sizeof(*known); i++)
        if (strcmp(ending, known[i].ending) == 0)
            return known[i].names[search_path(known[i].names[0], found, sizeof(found)) != 0];
    return NULL;
}

void program_warn_if_unmarked(const char *path)
{
    char begin[2] = "";
    const char *interpreter = interpreter_of(path);
    int fd = interpreter && strcmp(interpreter, "sh") != 0 ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    ssize_t got = fd < 0 ? 0 : read(fd, begin, sizeof(begin));
    if (fd >= 0)
        close(fd);
    if (got == 2 && memcmp(begin, "#!", 2) != 0 && memcmp(begin, ELFMAG, 2) != 0)
        warning("'%s' has no #! line, so sh runs it: 'gputrace run %s %s' runs it with %s", path, interpreter,
                shell_file(path), interpreter);
}

static int refuse(const char *path, int failure)
{
    struct stat file;
    if (absent(failure) && stat(path, &file) == 0 && S_ISREG(file.st_mode) && interpreter_of(path))
        failure = EACCES; /* the file is in the current directory, which is not in PATH */
    if (absent(failure)) {
        error("cannot find '%s'", path);
        return EXIT_NOT_FOUND;
    }
    const char *interpreter = failure == EACCES ? interpreter_of(path) : NULL;
    if (interpreter)
        error("cannot run '%s': it is not executable: 'gputrace run %s %s' runs it with %s", path, interpreter,
              shell_file(path), interpreter);
    else if (failure == EACCES)
        error("cannot run '%s': it is not executable (chmod +x makes it so)", path);
    else
        error("cannot run '%s': %s", path, strerror(failure));
    return EXIT_NOT_RUN;
}

int program_find(const char *name, char *path, size_t space)
{
    if (strchr(name, '/')) {
        int failure = strlen(name) < space ? check(strcpy(path, name)) : ENAMETOOLONG;
        return failure ? refuse(name, failure) : 0;
    }
    int failure = search_path(name, path, space);
    if (failure != ENOENT || access(name, X_OK) != 0)
        return failure ? refuse(name, failure) : 0;
    error("cannot find '%s' in PATH: to run the file in this directory, use './%s'", name, name);
    return EXIT_NOT_FOUND;
}

bool program_gains_rights(const char *path)
{
    struct stat file;
    if (stat(path, &file) != 0)
        return false;
    bool user = (file.st_mode & S_ISUID) && file.st_uid != getuid();
    bool group = (file.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && file.st_gid != getgid();
    return user || group || (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
}

/* --- what starts jobs --- */

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(name, *names) != 0)
        names++;
    return *names != NULL;
}

/* Returns the script in ARGV of a Python interpreter, or the module after -m, or NULL. */
static const char *python_program(char *const *argv, bool *is_module)
{
    *is_module = false;
    for (argv++; *argv && **argv == '-'; argv++) {
        *is_module = strcmp(*argv, "-m") == 0;
        if (*is_module)
            return argv[1];
        if (strcmp(*argv, "-X") == 0 || strcmp(*argv, "-W") == 0) /* a value follows */
            argv += argv[1] != NULL;
    }
    return *argv;
}

bool job_program_starts_ranks(char *const *argv)
{
    static const char *const names[] = {
        "torchrun",     "accelerate",    "deepspeed",       "mpirun",         "mpiexec",    "orterun",
        "prterun",      "mpirun_rsh",    "mpiexec.hydra",   "mpirun.openmpi", "srun",       "jsrun",
        "mpirun.mpich", "mpiexec.mpich", "mpiexec.openmpi", "flux",           "horovodrun", NULL};
    static const char *const modules[] = {"torch.distributed.run", "torch.distributed.launch",
                                          "accelerate.commands.launch", "deepspeed.launcher.runner", NULL};
    const char *name = program_name(argv[0]);
    bool is_module;
    if (strncmp(name, "python", 6) != 0)
        return is_one_of(name, names);
    const char *program = python_program(argv, &is_module);
    return program && (is_module ? is_one_of(program, modules) : is_one_of(program_name(program), names));
}

/* --- our library --- */

/* Folders of the library, relative to this program: in a build tree, and as `make install` puts it. */
static const char *const places[] = {"", "/" GPUTRACE_LIBDIR};

int library_find(char *path, size_t space)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length <= 0 && !realpath((const char *)getauxval(AT_EXECFN), self)) /* there is no /proc */
        return -1;
    if (length > 0)
        self[length] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        char candidate[PATH_MAX], absolute[PATH_MAX];
        int size = snprintf(candidate, sizeof(candidate), "%s%s/" LIBRARY_FILE, self, places[i]);
        if (size < 0 || (size_t)size >= sizeof(candidate) || !realpath(candidate, absolute))
            continue;
        size = snprintf(path, space, "%s", absolute);
        if (size > 0 && (size_t)size < space && access(path, R_OK) == 0)
            return 0;
    }
    return -1;
}

int library_check(const char *path)
{
    char where[PATH_MAX];
    if (!world_writable(path, where))
        return 0;
    return error("'%s' is not loaded into a program, because everybody can write to '%s': chmod o-w %s", path, where,
                 shell_word(where));
}

/* --- plugins --- */

/* Directories of plugins, relative to that of the library, as `make install` and `make samples` use them. */
static const char *const plugin_places[] = {"/gputrace", "/samples/plugins"};
static const char *const endings[] = {".so", ""};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

struct search {
    char name[PATH_MAX];    /* FILE of --plugin, without the settings */
    char library[PATH_MAX]; /* directory of libgputrace.so, or "" if it was not found */
    char found[PATH_MAX];   /* absolute path of the plugin */
    struct buffer looked;   /* list of the paths that were tried: "'here', 'there'" */
};

/* Checks that PATH is a file and writes its absolute path into FOUND. Returns 0, or -1 with errno set. */
static int is_file(const char *path, char *found)
{
    struct stat status;
    if (!realpath(path, found) || stat(found, &status) != 0)
        return -1;
    errno = EISDIR;
    return S_ISDIR(status.st_mode) ? -1 : 0;
}

static int try_directory(struct search *search, const char *directory, const char *below)
{
    for (size_t i = 0; i < COUNT(endings); i++) {
        char path[2 * PATH_MAX + 32];
        snprintf(path, sizeof(path), "%s%s/%s%s", directory, below, search->name, endings[i]);
        buffer_format(&search->looked, "%s'%s'", search->looked.length ? ", " : "", path);
        if (is_file(path, search->found) == 0)
            return 0;
    }
    return -1;
}

static int search_init(struct search *search, const char *value)
{
    size_t length = strcspn(value, ",");
    *search = (struct search){0};
    buffer_init_memory(&search->looked);
    if (length == 0)
        return error("--plugin: '%s' has no file name", value);
    if (strchr(value, '\n'))
        return error("--plugin: '%s' contains a line break", value);
    if (length >= sizeof(search->name))
        return error("--plugin: %s", strerror(ENAMETOOLONG));
    memcpy(search->name, value, length);
    if (library_find(search->library, sizeof(search->library)) < 0)
        *search->library = '\0';
    char *slash = strrchr(search->library, '/');
    if (slash)
        *slash = '\0';
    return 0;
}

/* Finds the plugin of gputrace whose name is most similar to the one that was not found. Returns false if none is. */
static bool suggest_name(const struct search *search, char nearest[NAME_MAX + 1])
{
    struct suggestion suggestion = suggestion_for(search->name, strlen(search->name));
    for (size_t i = 0; *search->library && i < COUNT(plugin_places); i++) {
        char path[PATH_MAX + 32];
        snprintf(path, sizeof(path), "%s%s", search->library, plugin_places[i]);
        DIR *directory = opendir(path);
        for (const struct dirent *entry; directory && (entry = readdir(directory));) {
            char name[NAME_MAX + 1];
            snprintf(name, sizeof(name), "%.*s", (int)strcspn(entry->d_name, "."), entry->d_name);
            if (suggestion_consider(&suggestion, name))
                suggestion.word = strcpy(nearest, name);
        }
        if (directory)
            closedir(directory);
    }
    return suggestion.word != NULL;
}

static int find(struct search *search)
{
    if (strchr(search->name, '/'))
        return is_file(search->name, search->found) == 0 ? 0
                                                         : error("--plugin: '%s': %s", search->name, strerror(errno));
    for (size_t i = 0; *search->library && i < COUNT(plugin_places); i++)
        if (try_directory(search, search->library, plugin_places[i]) == 0)
            return 0;
    if (try_directory(search, ".", "") == 0)
        return 0;
    buffer_char(&search->looked, '\0');
    const char *looked = search->looked.failure ? "it" : search->looked.data;
    char nearest[NAME_MAX + 1];
    if (suggest_name(search, nearest))
        return error("no plugin '%s': did you mean '%s'? Looked for %s", search->name, nearest, looked);
    return error("no plugin '%s': looked for %s", search->name, looked);
}

/* --- its settings --- */

#define SETTINGS_MAX 1024

/* Returns the item at LIST, behind a comma if there is one, and its LENGTH, or NULL at the end of the list. */
static const char *next_item(const char *list, size_t *length)
{
    list += *list == ',';
    *length = strcspn(list, ",");
    return *list ? list : NULL;
}

static int error_unknown_setting(const struct search *search, const char *known, const char *key, size_t length)
{
    char words[SETTINGS_MAX], list[2 * SETTINGS_MAX] = "";
    struct suggestion nearest = suggestion_for(key, length);
    snprintf(words, sizeof(words), "%s", known);
    for (char *rest = words, *word; (word = strsep(&rest, ","));) {
        suggestion_consider(&nearest, word);
        text_list_add(list, sizeof(list), word);
    }
    if (nearest.word)
        return error("plugin '%s' has no setting '%.*s': did you mean '%s'? It takes %s", search->name, (int)length,
                     key, nearest.word, list);
    return error("plugin '%s' has no setting '%.*s': it takes %s", search->name, (int)length, key,
                 *list ? list : "none");
}

/* Checks SETTINGS against the names that the plugin exports. A plugin without such a list accepts any setting. */
static int check_settings(const struct search *search, const char *settings)
{
    char known[SETTINGS_MAX];
    bool says = elf_exported_text(search->found, "gputrace_plugin_settings", known, sizeof(known));
    const char *item = settings;
    for (size_t length; says && (item = next_item(item, &length)); item += length) {
        size_t key = strcspn(item, "=,");
        const char *word = known;
        bool found = false;
        for (size_t size; !found && (word = next_item(word, &size)); word += size)
            found = size == key && memcmp(word, item, key) == 0;
        if (!found && key > 0)
            return error_unknown_setting(search, known, item, key);
    }
    return 0;
}

static int append(const char **list, const char *path, const char *settings)
{
    char *grown;
    if (strpbrk(path, ",\n"))
        return error("--plugin: the path '%s' contains a comma or a line break", path);
    int length = asprintf(&grown, "%s%s%s%s", *list ? *list : "", *list ? "\n" : "", path, settings);
    if (length < 0)
        return error_no_memory("the plugins");
    *list = grown; /* the old text is not freed: it is short */
    return 0;
}

int plugin_list_add(void *list, const char *value)
{
    static struct search search; /* static: three paths are much for a stack */
    int failed = search_init(&search, value);
    if (!failed)
        failed = find(&search);
    if (!failed)
        failed = library_check(search.found);
    if (!failed)
        failed = check_settings(&search, value + strcspn(value, ","));
    if (!failed)
        failed = append(list, search.found, value + strcspn(value, ","));
    buffer_release(&search.looked);
    return failed;
}

/* --- libraries that are preloaded --- */

/* Writes FOLDER/FILE, where FOLDER is below that of LIBRARY. Returns whether the file is there. */
static bool find_beside(const char *library, const char *folder, const char *file, char *path, size_t space)
{
    const char *slash = strrchr(library, '/');
    int length = snprintf(path, space, "%.*s%s%s", slash ? (int)(slash - library) + 1 : 0, library, folder, file);
    return length >= 0 && (size_t)length < space && access(path, R_OK) == 0;
}

/* Writes the path for preloading the library FILE. The dynamic loader prints an error for each 32-bit program if the
 * path names a 64-bit library, so the path contains the loader's $LIB if the Makefile's links exist: in 64-bit programs
 * they lead to FILE, in 32-bit programs to the C library, which these have loaded already. */
static bool find_preload(const char *library, const char *file, char *path, size_t space)
{
    if (find_beside(library, "libgputrace-preload/lib64/", file, path, space))
        find_beside(library, "libgputrace-preload/$LIB/", file, path, space);
    else if (!find_beside(library, "", file, path, space))
        return false;
    return true;
}

int preload_find_mpi(const char *library, char *path, size_t space)
{
    if (!find_preload(library, MPI_LIBRARY_FILE, path, space))
        return error("--mpi: cannot find '" MPI_LIBRARY_FILE "' beside '%s'", library);
    if (strpbrk(path, " :"))
        return error("--mpi: '%s' cannot be preloaded, because its path has a blank or a colon: install gputrace "
                     "elsewhere",
                     path);
    return 0;
}

void preload_find_torch(const char *library, char *path, size_t space)
{
    bool is_there = find_preload(library, TORCH_LIBRARY_FILE, path, space);
    if (is_there && !strpbrk(path, " :"))
        return;
    warning("operators of PyTorch are recorded in processes that use CUDA or NVTX alone: '%s' %s", path,
            is_there ? "has a blank or a colon in its path and cannot be preloaded" : "is missing");
    *path = '\0';
}

#define SEPARATORS " :"

/* Returns the length of the libraries of sanitizers at the start of LIST, such as "/usr/lib/libasan.so.8" or
 * "libclang_rt.asan-x86_64.so". */
static size_t sanitizers_length(const char *list)
{
    size_t end = 0;
    while (true) {
        size_t start = end + strspn(list + end, SEPARATORS), length = strcspn(list + start, SEPARATORS);
        if (!memmem(list + start, length, "san.so", strlen("san.so")) &&
            !memmem(list + start, length, "clang_rt.", strlen("clang_rt.")))
            return end;
        end = start + length;
    }
}

int preload_add(const char *path)
{
    const char *before = getenv("LD_PRELOAD");
    char *list = NULL;
    if (!before || !*before)
        return setenv("LD_PRELOAD", path, 1);
    int first = (int)sanitizers_length(before);
    const char *rest = before + first + strspn(before + first, SEPARATORS);
    if (asprintf(&list, "%.*s%s%s%s%s", first, before, first ? ":" : "", path, *rest ? ":" : "", rest) < 0) {
        errno = ENOMEM;
        return -1;
    }
    int failed = setenv("LD_PRELOAD", list, 1);
    free(list);
    return failed;
}
