/*
 * Finds the file of each plugin in the folders of plugins, and checks its settings against those that the plugin
 * names. Finds the libraries to preload and puts them into LD_PRELOAD, behind a sanitizer's library if one is there,
 * which must be first.
 */
#include "cli/loaded_libraries.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/buffer.h"
#include "common/text.h"
#include "launch/program.h"

/* Below the library's own directory, as `make install` and `make samples` put plugins there. */
static const char *const places[] = {"/gputrace", "/samples/plugins"};
static const char *const endings[] = {".so", ""};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

struct search {
    char name[PATH_MAX];    /* FILE, without its settings */
    char library[PATH_MAX]; /* directory of libgputrace.so; "": there is none */
    char found[PATH_MAX];   /* absolute */
    struct buffer looked;   /* "'here', 'there'" */
};

/* PATH is a file: its absolute path in FOUND. Returns 0, or -1 with errno set. */
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

/* The name nearest to the one that was not found, among the plugins that come with gputrace. */
static bool suggest_name(const struct search *search, char nearest[NAME_MAX + 1])
{
    struct suggestion suggestion = suggestion_for(search->name, strlen(search->name));
    for (size_t i = 0; *search->library && i < COUNT(places); i++) {
        char path[PATH_MAX + 32];
        snprintf(path, sizeof(path), "%s%s", search->library, places[i]);
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
    for (size_t i = 0; *search->library && i < COUNT(places); i++)
        if (try_directory(search, search->library, places[i]) == 0)
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

/* The item that begins at LIST, and where the next one begins; NULL: there is none. */
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

/* A plugin that names its settings gets no others; one that does not gets any. */
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
    *list = grown; /* what was there is a part of it, and short */
    return 0;
}

int plugin_list_add(const char **list, const char *value)
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

/* Finds a library that is preloaded. The dynamic loader prints an error for each 32-bit program when PATH is a
 * 64-bit library. So PATH has the loader's $LIB, if the links are there (Makefile) that lead to FILE in programs of 64
 * bits, and in those of 32 bits to their C library, which they have loaded already. */
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

/* "/usr/lib/libasan.so.8", "libclang_rt.asan-x86_64.so" */
static bool is_sanitizer(const char *path, size_t length)
{
    return memmem(path, length, "san.so", strlen("san.so")) || memmem(path, length, "clang_rt.", strlen("clang_rt."));
}

/* Returns how many bytes of LIST name sanitizers, before another library. */
static size_t sanitizers_length(const char *list)
{
    size_t end = 0;
    while (true) {
        size_t start = end + strspn(list + end, SEPARATORS), length = strcspn(list + start, SEPARATORS);
        if (!is_sanitizer(list + start, length))
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
