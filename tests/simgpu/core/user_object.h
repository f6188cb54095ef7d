/*
 * User objects: what graphs hold for a program, which gets a callback when the last holder is gone. A graph that is
 * copied or instantiated holds what the original does; one that is launched holds it until the launch is done.
 */
#ifndef SIMGPU_CORE_USER_OBJECT_H
#define SIMGPU_CORE_USER_OBJECT_H

#include <cuda.h>

#include "core/list.h"

CUuserObject user_object_create(void *data, CUhostFn destroy, unsigned references);
void user_object_retain(CUuserObject object, unsigned count);
/* Once AFTER (a list of struct work; NULL: none) is done. The program is called back on the thread that calls functions
 * of the host. */
void user_object_release(CUuserObject object, unsigned count, const struct list *after);

/* Lists of references: the same object as often as it is held. */
void user_objects_retain(struct list *to, const struct list *from);
/* Releases all. The list is empty then. */
void user_objects_release(struct list *objects, const struct list *after);

#endif
