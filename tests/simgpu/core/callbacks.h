/*
 * CUPTI's callbacks: who has subscribed, what is enabled, and calling it. The questions are cheap and may be asked by
 * any thread. A callback runs on the thread it is about, with no lock held; what that thread does inside it has no
 * callbacks.
 */
#ifndef SIMGPU_CORE_CALLBACKS_H
#define SIMGPU_CORE_CALLBACKS_H

#include <stdbool.h>
#include <stdint.h>

#include <cupti.h>

enum { CALLBACKS_CBIDS = 1024 }; /* more than any domain of CUDA 13 has */

/* The subscriber, of which a process has one. False when there is one already; its name is then put into OLD_NAME. */
bool callbacks_subscribe(CUpti_CallbackFunc function, void *userdata, const char *name, char *old_name,
                         size_t old_size);
/* False when nobody has subscribed. There are no callbacks any more. */
bool callbacks_unsubscribe(void);
bool callbacks_subscribed(void);

/* False when DOMAIN or CBID does not exist. */
bool callbacks_enable(bool enable, CUpti_CallbackDomain domain, CUpti_CallbackId cbid);
bool callbacks_enable_domain(bool enable, CUpti_CallbackDomain domain);

/* Is it enabled? */
bool callbacks_enabled(CUpti_CallbackDomain domain, CUpti_CallbackId cbid);
/* Is there a callback for this, on this thread, now? */
bool callbacks_wanted(CUpti_CallbackDomain domain, CUpti_CallbackId cbid);
/* Is this thread in a callback? */
bool callbacks_inside(void);
/* Tells it, if it is enabled. DATA is what CUPTI's header says for DOMAIN. */
void callbacks_call(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data);

/* The RESOURCE domain: DESCRIPTOR is a module's or graph's data, or NULL. */
void callbacks_resource(CUpti_CallbackIdResource cbid, CUcontext context, CUstream stream, void *descriptor);

#endif
