# ptxt turns every templates/<folder>/*.ptxc into C in the build tree. Folders: common, and the families
# that templates/families.def names. Fingerprints hash everything that decides what PTX comes out.
set(PTXGEN_GENERATED_DIR ${PROJECT_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${PTXGEN_GENERATED_DIR})

add_executable(ptxt ${PROJECT_SOURCE_DIR}/tools/ptxt.c)
target_compile_options(ptxt PRIVATE -Wall -Wextra)

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/templates/families.def)
file(STRINGS ${PROJECT_SOURCE_DIR}/templates/families.def family_lines REGEX "^PG_(FAMILY|HELPER)\\(")
set(template_folders common)
foreach(line ${family_lines})
    string(REGEX REPLACE "^PG_[A-Z]+\\(([a-z0-9_]+)\\).*" "\\1" name "${line}")
    list(APPEND template_folders ${name})
    if(line MATCHES "^PG_FAMILY" AND NOT EXISTS ${PROJECT_SOURCE_DIR}/templates/${name}/oracle.c)
        message(FATAL_ERROR "templates/${name}/oracle.c is missing: every family has a plain C answer, "
            "pg_${name}_oracle, which its results are compared with")
    endif()
endforeach()

set(PTXGEN_TEMPLATE_SOURCES "")
foreach(folder ${template_folders})
    file(GLOB plain CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/templates/${folder}/*.c)
    list(APPEND PTXGEN_TEMPLATE_SOURCES ${plain})
    file(GLOB templates CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/templates/${folder}/*.ptxc)
    file(MAKE_DIRECTORY ${PTXGEN_GENERATED_DIR}/templates/${folder})
    foreach(template ${templates})
        file(RELATIVE_PATH relative ${PROJECT_SOURCE_DIR} ${template})
        set(output ${PTXGEN_GENERATED_DIR}/${relative}.c)
        add_custom_command(OUTPUT ${output}
            COMMAND ptxt ${relative} -o ${output}
            WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
            DEPENDS ptxt ${template}
            COMMENT "ptxt ${relative}" VERBATIM)
        list(APPEND PTXGEN_TEMPLATE_SOURCES ${output})
    endforeach()
endforeach()

# Everything below decides the emitted text: a change in a family's folder changes its keys, a change elsewhere all.
file(GLOB_RECURSE fingerprint_sources CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/templates/*.[ch] ${PROJECT_SOURCE_DIR}/templates/*.ptxc
    ${PROJECT_SOURCE_DIR}/src/generate/* ${PROJECT_SOURCE_DIR}/src/ptx/inline/*
    ${PROJECT_SOURCE_DIR}/tools/ptxt.c ${PROJECT_SOURCE_DIR}/src/base/buf.c
    ${PROJECT_SOURCE_DIR}/src/base/arch.c)
set(fingerprint_header ${PTXGEN_GENERATED_DIR}/generator_fingerprint.h)
add_custom_command(OUTPUT ${fingerprint_header}
    COMMAND ${CMAKE_COMMAND} "-DROOT=${PROJECT_SOURCE_DIR}" "-DFILES=${fingerprint_sources}"
        "-DFAMILIES=${template_folders}" -DOUTPUT=${fingerprint_header}
        -P ${PROJECT_SOURCE_DIR}/cmake/fingerprint.cmake
    DEPENDS ${fingerprint_sources} ${PROJECT_SOURCE_DIR}/cmake/fingerprint.cmake
        ${PROJECT_SOURCE_DIR}/templates/families.def
    COMMENT "fingerprints of the families" VERBATIM)
add_custom_target(ptxgen_generated DEPENDS ${fingerprint_header})
