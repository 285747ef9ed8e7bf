namespace Tunnel2.ProxyEntry.Reload;

/// <summary>
/// A part that was read from files, and is read again when they change. A change that could not be read, understood or applied is tried
/// again at every look, until it succeeds or the files are as before. So a half-written file, a certificate without its key or a short disk
/// failure does not lose a revocation. Each distinct failure is logged once. For the reload loop alone.
/// </summary>
internal abstract class WatchedReload : IReloadable
{
    private readonly IChangeWatch _watch;
    private string _reported = "";
    private volatile string _problem = "";

    protected WatchedReload(IChangeWatch watch) => _watch = watch;

    /// <summary>Why the files as they are now are not in use; empty when they are. Any thread may ask.</summary>
    public string Problem => _problem;

    /// <inheritdoc/>
    public void ReloadIfChanged()
    {
        if (!_watch.HaveChanged())
        {
            _reported = "";
            _problem = "";
            return;
        }

        IReadOnlyList<ReloadProblem> problems;
        try
        {
            problems = Reload();
        }
        catch (Exception exception)
        {
            // Every exception is caught: it would end the loop, and with it all later reloads.
            problems = [new ReloadProblem("", exception.GetBaseException().Message.ReplaceLineEndings(" "))];
        }

        if (problems.Count == 0)
        {
            _watch.Accept();
            _reported = "";
            _problem = "";
            return;
        }

        var words = string.Join('\n', problems);
        if (words == _reported)
        {
            return;
        }

        _reported = words;
        _problem = problems[0].Reason;
        foreach (var problem in problems)
        {
            Report(problem);
        }
    }

    /// <summary>
    /// Reads and applies the current files. If there is a problem, it changes nothing. It may throw instead of returning the problem.
    /// </summary>
    protected abstract IReadOnlyList<ReloadProblem> Reload();

    /// <summary>Logs a problem.</summary>
    protected abstract void Report(ReloadProblem problem);
}
