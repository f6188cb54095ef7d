#include "core/user_object.h"

#include <stdlib.h>

#include "core/sim.h"
#include "core/work.h"

struct CUuserObject_st {
    void *data;
    CUhostFn destroy;
    unsigned references; /* under the simulator's lock */
};

CUuserObject user_object_create(void *data, CUhostFn destroy, unsigned references)
{
    CUuserObject object = malloc(sizeof(*object));
    if (!object)
        abort();
    *object = (struct CUuserObject_st){.data = data, .destroy = destroy, .references = references};
    return object;
}

void user_object_retain(CUuserObject object, unsigned count)
{
    sim_lock();
    object->references += count;
    sim_unlock();
}

/* With the lock held. */
static void user_object_notify(const struct CUuserObject_st *object, const struct list *after)
{
    const struct op op = {.type = CU_GRAPH_NODE_TYPE_HOST, .host = {.function = object->destroy, .data = object->data}};
    struct work *item = work_new(&op);
    for (size_t i = 0; after && i < after->count; i++)
        work_depend(item, after->items[i]);
    work_start(item);
    work_drop(item);
}

void user_object_release(CUuserObject object, unsigned count, const struct list *after)
{
    sim_lock();
    object->references -= count;
    bool gone = !object->references;
    if (gone)
        user_object_notify(object, after);
    sim_unlock();
    if (gone)
        free(object);
}

void user_objects_retain(struct list *to, const struct list *from)
{
    for (size_t i = 0; i < from->count; i++) {
        user_object_retain(from->items[i], 1);
        list_add(to, from->items[i]);
    }
}

void user_objects_release(struct list *objects, const struct list *after)
{
    for (size_t i = 0; i < objects->count; i++)
        user_object_release(objects->items[i], 1, after);
    list_release(objects);
}
