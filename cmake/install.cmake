# What `cmake --install` puts in place, in components: library, dev (headers, static library, CMake package, .pc file),
# command, python. A wheel has other places: cmake/wheel.cmake.
# Nothing installed names the build tree, and the installed tree may be moved.
include(CMakePackageConfigHelpers)

set(PTXGEN_ZSH_DIR ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING "Where zsh looks for completions")
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ptxgen)
install(DIRECTORY include/ptxgen DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
    FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(TARGETS ptxgen_static ptxgen_shared EXPORT ptxgenTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT dev)
if(TARGET ptxgen_command)
    install(TARGETS ptxgen_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
    install(TARGETS ptxgen_nvrtc RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/ptxgen COMPONENT command)
endif()
if(TARGET ptxgen_documents)
    install(DIRECTORY ${PTXGEN_DOCUMENTS}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT command
        FILES_MATCHING PATTERN "*.1" PATTERN "*.1.gz")
    install(FILES ${PTXGEN_DOCUMENTS}/ptxgen.bash RENAME ptxgen COMPONENT command
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${PTXGEN_DOCUMENTS}/_ptxgen COMPONENT command DESTINATION ${PTXGEN_ZSH_DIR})
    install(FILES ${PTXGEN_DOCUMENTS}/ptxgen.fish COMPONENT command
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
install(EXPORT ptxgenTargets NAMESPACE ptxgen:: DESTINATION ${package_dir} COMPONENT dev)

# A static consumer links NVIDIA's compiler library as well, so it is installed beside ours.
set(PTXGEN_PC_PRIVATE "")
if(PTXGEN_NVPTXCOMPILER_LIBRARY)
    install(FILES ${PTXGEN_NVPTXCOMPILER_LIBRARY} DESTINATION ${CMAKE_INSTALL_LIBDIR}/ptxgen COMPONENT dev)
    get_filename_component(name ${PTXGEN_NVPTXCOMPILER_LIBRARY} NAME)
    set(PTXGEN_PC_PRIVATE "\${libdir}/ptxgen/${name} ${PTXGEN_NVPTXCOMPILER_NEEDS} ")
endif()

configure_package_config_file(cmake/ptxgenConfig.cmake.in ${PROJECT_BINARY_DIR}/ptxgenConfig.cmake
    INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ptxgenConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ptxgenConfig.cmake ${PROJECT_BINARY_DIR}/ptxgenConfigVersion.cmake
    DESTINATION ${package_dir} COMPONENT dev)

# "lib/pkgconfig" -> "../..", "lib/x86_64-linux-gnu/pkgconfig" -> "../../.."
file(RELATIVE_PATH PTXGEN_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/ptxgen.pc.in ${PROJECT_BINARY_DIR}/ptxgen.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ptxgen.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT dev)

# The Python package of a distribution: its module uses the library that is installed.
set(PTXGEN_PYTHON_INSTALL_DIR "" CACHE STRING "Where to install the Python package, under the prefix; empty: nowhere")
if(TARGET ptxgen_python AND PTXGEN_PYTHON_INSTALL_DIR)
    install(TARGETS ptxgen_python ptxgen_tvm_ffi LIBRARY DESTINATION ${PTXGEN_PYTHON_INSTALL_DIR}/ptxgen COMPONENT python)
    install(DIRECTORY python/ptxgen DESTINATION ${PTXGEN_PYTHON_INSTALL_DIR} COMPONENT python
        PATTERN __pycache__ EXCLUDE)
endif()
