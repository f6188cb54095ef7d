/* The lock of everything simulated: contexts, streams, work, graphs, memory. Held shortly; nobody outside is called
 * with it. */
#ifndef SIMGPU_CORE_SIM_H
#define SIMGPU_CORE_SIM_H

#include <pthread.h>

extern pthread_mutex_t sim_mutex;

static inline void sim_lock(void)
{
    pthread_mutex_lock(&sim_mutex);
}

static inline void sim_unlock(void)
{
    pthread_mutex_unlock(&sim_mutex);
}

#endif
