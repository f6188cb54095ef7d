/*
 * The device code that nvcc has put into the program: each translation unit registers its fat binary, kernels and
 * variables before main. A fat binary is loaded into the driver when a kernel or variable of it is first used.
 */
#ifndef SIMGPU_CUDART_REGISTRY_H
#define SIMGPU_CUDART_REGISTRY_H

#include <cupti.h>

/* The kernel registered for FUNC, the host's function of the same name; or FUNC itself, when it is a kernel's handle.
 */
cudaError_t registry_kernel(const void *func, CUfunction *function);
/* Its mangled name, or NULL when it is not known. Loads nothing. */
const char *registry_name(const void *func);
/* HANDLE may be used where a host's function may. */
void registry_add_handle(const void *handle);
/* Where the variable registered for SYMBOL is on the device. */
cudaError_t registry_variable(const void *symbol, CUdeviceptr *address, size_t *size);

#endif
