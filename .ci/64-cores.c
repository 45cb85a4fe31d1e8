// Loaded before a program, it makes 64 cores of any number.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

enum { CORES = 64 };

int sched_getaffinity(pid_t process, size_t size, cpu_set_t *set) {
    (void)process;
    memset(set, 0, size);
    for (int core = 0; core < CORES; core++) CPU_SET_S(core, size, set);
    return 0;
}

long sysconf(int name) {
    if (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF) return CORES;
    long (*original)(int) = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
    return original(name);
}
