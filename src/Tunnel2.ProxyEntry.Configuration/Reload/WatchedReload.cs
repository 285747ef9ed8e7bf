namespace Tunnel2.ProxyEntry.Reload;

/// <summary>
/// What was read from files, and is read again when they change. A change that could not be read, understood or applied is tried again at
/// every look, until it can be or the files are as before: a half-written file, a certificate without its key and a disk that failed for a
/// moment must not lose a revocation. Each distinct failure is told once. For the reload loop alone.
/// </summary>
internal abstract class WatchedReload : IReloadable
{
    private readonly IChangeWatch _watch;
    private string _told = "";

    protected WatchedReload(IChangeWatch watch) => _watch = watch;

    /// <inheritdoc/>
    public void ReloadIfChanged()
    {
        if (!_watch.HaveChanged())
        {
            _told = "";
            return;
        }

        IReadOnlyList<ReloadProblem> problems;
        try
        {
            problems = Reload();
        }
        catch (Exception exception)
        {
            // Whatever it is: an exception here would end the loop, and with it every later reload.
            problems = [new ReloadProblem("", exception.GetBaseException().Message.ReplaceLineEndings(" "))];
        }

        if (problems.Count == 0)
        {
            _watch.Accept();
            _told = "";
            return;
        }

        var words = string.Join('\n', problems);
        if (words == _told)
        {
            return;
        }

        _told = words;
        foreach (var problem in problems)
        {
            Tell(problem);
        }
    }

    /// <summary>
    /// Reads and applies what is in the files now. Changes nothing where there is a problem; may throw instead of naming it.
    /// </summary>
    protected abstract IReadOnlyList<ReloadProblem> Reload();

    /// <summary>Logs a problem.</summary>
    protected abstract void Tell(ReloadProblem problem);
}
