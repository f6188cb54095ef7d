#include "agent/allocator/observers.h"

#include <pthread.h>
#include <string.h>

#define OBSERVERS_MAX 8

struct observer {
    gputrace_allocator_failure_fn *call;
    void *data;
};

static struct {
    pthread_mutex_t lock;
    struct observer list[OBSERVERS_MAX];
    unsigned count;
} observers = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread bool asking;

int observers_add(gputrace_allocator_failure_fn *call, void *data)
{
    pthread_mutex_lock(&observers.lock);
    bool room = call && observers.count < OBSERVERS_MAX;
    if (room)
        observers.list[observers.count++] = (struct observer){call, data};
    pthread_mutex_unlock(&observers.lock);
    return room ? 0 : -1;
}

int observers_remove(gputrace_allocator_failure_fn *call, void *data)
{
    int result = -1;
    pthread_mutex_lock(&observers.lock);
    for (unsigned i = 0; i < observers.count && result != 0; i++) {
        if (observers.list[i].call != call || observers.list[i].data != data)
            continue;
        observers.count--;
        memmove(&observers.list[i], &observers.list[i + 1], (observers.count - i) * sizeof(observers.list[0]));
        result = 0;
    }
    pthread_mutex_unlock(&observers.lock);
    return result;
}

bool observers_ask(int device, size_t size, size_t held)
{
    struct observer list[OBSERVERS_MAX];
    if (asking)
        return false;
    pthread_mutex_lock(&observers.lock);
    unsigned count = observers.count;
    memcpy(list, observers.list, sizeof(list));
    pthread_mutex_unlock(&observers.lock);
    asking = true;
    bool again = false;
    for (unsigned i = 0; i < count && !again; i++)
        again = list[i].call(list[i].data, device, size, held) != 0;
    asking = false;
    return again;
}
