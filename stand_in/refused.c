/* Every other function of the runtime and the driver: it says its name and is not supported. The
 * lists hold the names that libcudart.so.13 and libcuda.so.1 export and that no other file here
 * defines. */
#include "stand_in/runtime.h"

#define REFUSED(name)                                                                              \
    PG_EXPORT pg_cuda_error name(void)                                                             \
    {                                                                                              \
        return pg_refuse(#name, NULL);                                                             \
    }
#include "stand_in/refused.def"
