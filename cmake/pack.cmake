# `cmake --build build/release --target pack`: the generic kernels of every family, as templates/FAMILY/generic.manifest
# lists them, in one file that an installed library finds by itself. Needs an assembler, and a minute or two; kernels that
# a former run has assembled are taken from build/.../pack_cache.
set(pack_manifests "")
foreach(folder ${template_folders})
    if(EXISTS ${PROJECT_SOURCE_DIR}/templates/${folder}/generic.manifest)
        list(APPEND pack_manifests ${PROJECT_SOURCE_DIR}/templates/${folder}/generic.manifest)
    endif()
endforeach()
add_custom_target(pack
    COMMAND sh ${PROJECT_SOURCE_DIR}/tools/make_pack.sh $<TARGET_FILE:ptxgen_command>
        ${PROJECT_BINARY_DIR}/pack_cache ${PROJECT_BINARY_DIR}/ptxgen/generic.pack ${pack_manifests}
    DEPENDS ptxgen_command ${pack_manifests} VERBATIM USES_TERMINAL)
if(NOT SKBUILD)
    install(FILES ${PROJECT_BINARY_DIR}/ptxgen/generic.pack DESTINATION ${CMAKE_INSTALL_LIBDIR}/ptxgen
        COMPONENT library OPTIONAL)
endif()
