/*
 * Finds the file of each plugin in the folders of plugins, and checks its settings against those that the plugin
 * names.
 */
#include "cli/plugin_list.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
