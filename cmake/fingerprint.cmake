# cmake -DROOT= -DFILES= -DOUTPUT= -P: writes the SHA-256 over the sorted (relative path, content hash) list.
# Content only: neither times nor the place of the checkout change it.
set(text "")
list(SORT FILES)
foreach(file ${FILES})
    file(RELATIVE_PATH relative ${ROOT} ${file})
    file(SHA256 ${file} hash)
    string(APPEND text "${relative} ${hash}\n")
endforeach()
string(SHA256 all "${text}")
string(SUBSTRING ${all} 0 32 short)
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define PG_GENERATOR_FINGERPRINT \"${short}\"\n")
