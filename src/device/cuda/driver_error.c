/* What a driver error means for our user: the status it becomes and the remedy. */
#include "base/error.h"
#include "device/device.h"
#include "device/cuda/driver.h"

static const struct {
    int number;
    ptxgen_status status;
    const char *remedy;
} known[] = {
    {1, PTXGEN_EDRIVER, "an argument is not valid for this device or driver"},
    {PG_CU_ERROR_OUT_OF_MEMORY, PTXGEN_ENOMEM, "free device memory or use a smaller problem"},
    {PG_CU_ERROR_NOT_INITIALIZED, PTXGEN_EDRIVER,
     "a process forked after CUDA was used cannot use it: fork before the first use, or exec"},
    {4, PTXGEN_EDRIVER, "the driver is shutting down: destroy ptxgen objects before exit"},
    {34, PTXGEN_EMISSING, "this is the toolkit's stub, not a driver: install the NVIDIA driver"},
    {36, PTXGEN_EMISSING, "update the NVIDIA driver"},
    {46, PTXGEN_EDRIVER, "another process holds the device exclusively"},
    {PG_CU_ERROR_NO_DEVICE, PTXGEN_EMISSING,
     "the driver sees no GPU: check nvidia-smi, the container's GPU access and "
     "CUDA_VISIBLE_DEVICES"},
    {PG_CU_ERROR_INVALID_IMAGE, PTXGEN_EDRIVER, "the cubin is damaged: remove it from the cache"},
    {PG_CU_ERROR_INVALID_CONTEXT, PTXGEN_EDRIVER, "the current context is not valid any more"},
    {PG_CU_ERROR_NO_BINARY_FOR_GPU, PTXGEN_EDRIVER,
     "the cubin was not built for this GPU: request the kernel with its arch"},
    {214, PTXGEN_EDRIVER, "the GPU has a memory fault: see nvidia-smi -q"},
    {PG_CU_ERROR_INVALID_PTX, PTXGEN_EDRIVER, "the driver's compiler refused the PTX: see its log"},
    {221, PTXGEN_EMISSING, "libnvidia-ptxjitcompiler is missing: install the driver completely"},
    {222, PTXGEN_EDRIVER, "the driver is older than the PTX version: use another assembler"},
    {400, PTXGEN_EDRIVER, "the stream does not belong to the current context"},
    {700, PTXGEN_EDRIVER, "an earlier kernel used a bad address; this context is lost"},
    {701, PTXGEN_EDRIVER, "the launch needs more registers or shared memory than the device has"},
    {702, PTXGEN_EDRIVER, "an earlier kernel ran too long; this context is lost"},
    {PG_CU_ERROR_CONTEXT_IS_DESTROYED, PTXGEN_EDRIVER, "make a live context current"},
    {710, PTXGEN_EDRIVER, "an earlier kernel's assert failed; this context is lost"},
    {715, PTXGEN_EDRIVER, "an earlier kernel trapped or was faulty; this context is lost"},
    {716, PTXGEN_EDRIVER, "an earlier kernel used a misaligned address; this context is lost"},
    {719, PTXGEN_EDRIVER, "an earlier kernel failed; this context is lost"},
    {803, PTXGEN_EMISSING, "the driver's library and kernel module differ: reboot or reinstall"},
    {804, PTXGEN_EMISSING, "the CUDA compatibility package does not support this GPU: remove it"},
    {PG_CU_ERROR_CAPTURE_UNSUPPORTED, PTXGEN_ECAPTURE,
     "not allowed while a stream is being captured: get the kernel before the capture"},
    {901, PTXGEN_EDRIVER, "the capture was broken by an earlier call"},
    {PG_CU_ERROR_CAPTURE_IMPLICIT, PTXGEN_ECAPTURE,
     "the legacy stream cannot be used while a blocking stream is being captured"},
    {908, PTXGEN_EDRIVER, "the capture was begun by another thread"},
    {912, PTXGEN_EDRIVER, "the device does not support this cluster size"},
    {999, PTXGEN_EDRIVER, "see the kernel log (dmesg) for an NVRM line"},
};

ptxgen_status pg_driver_check(const pg_driver *driver, int result, const char *doing,
                              ptxgen_error *err)
{
    if (result == 0)
        return PTXGEN_OK;
    ptxgen_status status = PTXGEN_EDRIVER;
    const char *remedy = "see the CUDA driver API's list of errors", *name = NULL;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].number == result) {
            status = known[i].status;
            remedy = known[i].remedy;
        }
    }
    if (!driver->cuGetErrorName || driver->cuGetErrorName(result, &name) != 0 || !name)
        name = "unknown error";
    pg_fail(err, status, "CUDA could not %s: error %d, %s; %s", doing, result, name, remedy);
    if (err)
        err->driver_error = result;
    return status;
}

ptxgen_status pg_driver_too_old(const pg_driver *driver, int since, const char *what,
                                ptxgen_error *err)
{
    return pg_fail(err, PTXGEN_EMISSING,
                   "the CUDA driver supports CUDA %d.%d, %s needs %d.%d: update the NVIDIA driver",
                   driver->version / 1000, driver->version % 1000 / 10, what, since / 1000,
                   since % 1000 / 10);
}

bool pg_is_bad_image(const ptxgen_error *err)
{
    return err->status == PTXGEN_EPARSE || err->driver_error == PG_CU_ERROR_INVALID_IMAGE ||
           err->driver_error == PG_CU_ERROR_NO_BINARY_FOR_GPU ||
           err->driver_error == PG_CU_ERROR_INVALID_PTX;
}
