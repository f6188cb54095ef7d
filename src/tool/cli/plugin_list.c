#include "tool/cli/plugin_list.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/sink.h"
#include "tool/launch/library.h"

/* Below the library's own directory, as `make install` and `make samples` put plugins there. */
static const char *const places[] = {"/gputrace", "/samples/plugins"};
static const char *const endings[] = {".so", ""};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

struct search {
    char name[PATH_MAX];    /* FILE, without its settings */
    char library[PATH_MAX]; /* directory of libgputrace.so; "": there is none */
    char found[PATH_MAX];   /* absolute */
    struct sink looked;     /* "'here', 'there'" */
};

/* PATH is a file: its absolute path in FOUND. Gives 0, or -1 with errno set. */
static int is_file(const char *path, char *found)
{
    struct stat status;
    if (!realpath(path, found) || stat(found, &status) != 0)
        return -1;
    errno = EISDIR;
    return S_ISDIR(status.st_mode) ? -1 : 0;
}

static int try_path(struct search *search, const char *path)
{
    sink_format(&search->looked, "%s'%s'", search->looked.length ? ", " : "", path);
    return is_file(path, search->found);
}

static int try_directory(struct search *search, const char *directory, const char *below)
{
    for (size_t i = 0; i < COUNT(endings); i++) {
        char path[2 * PATH_MAX + 32];
        snprintf(path, sizeof(path), "%s%s/%s%s", directory, below, search->name, endings[i]);
        if (try_path(search, path) == 0)
            return 0;
    }
    return -1;
}

static int look_for_name(struct search *search)
{
    for (size_t i = 0; *search->library && i < COUNT(places); i++)
        if (try_directory(search, search->library, places[i]) == 0)
            return 0;
    return try_directory(search, ".", "");
}

static int search_init(struct search *search, const char *value)
{
    size_t length = strcspn(value, ",");
    *search = (struct search){0};
    sink_init_memory(&search->looked);
    if (length == 0)
        return error("'--plugin=%s' names no file", value);
    if (strchr(value, '\n'))
        return error("'--plugin' cannot take a line break: '%s'", value);
    if (length >= sizeof(search->name))
        return error("'--plugin': %s", strerror(ENAMETOOLONG));
    memcpy(search->name, value, length);
    if (library_find(search->library, sizeof(search->library)) < 0)
        *search->library = '\0';
    char *slash = strrchr(search->library, '/');
    if (slash)
        *slash = '\0';
    return 0;
}

static int find(struct search *search)
{
    if (strchr(search->name, '/'))
        return is_file(search->name, search->found) == 0 ? 0
                                                         : error("'--plugin=%s': %s", search->name, strerror(errno));
    if (look_for_name(search) == 0)
        return 0;
    sink_char(&search->looked, '\0');
    return error("no plugin '%s': looked for %s", search->name, search->looked.failure ? "it" : search->looked.data);
}

static int append(const char **list, const char *path, const char *settings)
{
    char *grown;
    if (strpbrk(path, ",\n"))
        return error("'--plugin' cannot take a file whose path has a comma or a line break: '%s'", path);
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
        failed = append(list, search.found, value + strcspn(value, ","));
    sink_release(&search.looked);
    return failed;
}
