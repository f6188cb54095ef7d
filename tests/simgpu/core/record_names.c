#include "core/record_names.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/list.h"

struct copy {
    unsigned users;
    size_t capacity;
    char text[];
};

static struct {
    pthread_mutex_t lock;
    struct list copies; /* all that ever were, in use or not */
} names = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct copy *find(const char *name)
{
    for (size_t i = 0; i < names.copies.count; i++) {
        struct copy *copy = names.copies.items[i];
        if (copy->users > 0 && strcmp(copy->text, name) == 0)
            return copy;
    }
    return NULL;
}

/* The first that nobody uses and that is large enough; or a new one. */
static struct copy *find_free(size_t bytes)
{
    for (size_t i = 0; i < names.copies.count; i++) {
        struct copy *copy = names.copies.items[i];
        if (copy->users == 0 && copy->capacity >= bytes)
            return copy;
    }
    size_t capacity = bytes < 64 ? 64 : bytes;
    struct copy *copy = calloc(1, sizeof(*copy) + capacity);
    if (!copy)
        abort();
    copy->capacity = capacity;
    list_add(&names.copies, copy);
    return copy;
}

const char *record_names_take(const char *name)
{
    pthread_mutex_lock(&names.lock);
    struct copy *copy = find(name);
    if (!copy) {
        size_t bytes = strlen(name) + 1;
        copy = find_free(bytes);
        memcpy(copy->text, name, bytes);
    }
    copy->users++;
    pthread_mutex_unlock(&names.lock);
    return copy->text;
}

void record_names_give(const char *text)
{
    pthread_mutex_lock(&names.lock);
    for (size_t i = 0; i < names.copies.count; i++) {
        struct copy *copy = names.copies.items[i];
        if (copy->text == text && copy->users > 0)
            copy->users--;
    }
    pthread_mutex_unlock(&names.lock);
}
