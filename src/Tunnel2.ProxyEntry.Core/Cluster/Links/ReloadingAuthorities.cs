using System.Security.Cryptography.X509Certificates;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Reload;

namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>
/// The authorities of the cluster, read again when their file changes. It may have two of them while one takes the place of the other.
/// New connections are judged by the new ones; running ones stay. <see cref="Current"/> is thread-safe.
/// </summary>
internal sealed class ReloadingAuthorities : WatchedReload
{
    private readonly string _path;
    private readonly ILogger _logger;
    private volatile X509Certificate2Collection _current;

    /// <summary>Reads the file.</summary>
    /// <exception cref="IOException">It cannot be used.</exception>
    public ReloadingAuthorities(string path, ILogger logger)
        : base(new WatchedFiles([path]))
    {
        _path = path;
        _logger = logger;
        _current = Load(path);
    }

    /// <summary>Those that count now.</summary>
    public X509Certificate2Collection Current => _current;

    /// <inheritdoc/>
    protected override IReadOnlyList<ReloadProblem> Reload()
    {
        var loaded = Load(_path);
        _current = loaded;
        NodeLinkLog.AuthoritiesReloaded(_logger, _path, loaded.Count);
        return [];
    }

    /// <inheritdoc/>
    protected override void Report(ReloadProblem problem) => NodeLinkLog.AuthoritiesNotReloaded(_logger, _path, problem.Reason);

    private static X509Certificate2Collection Load(string path) =>
        ClientAuthorities.TryLoad(path, out var authorities, out var problem)
            ? authorities
            : throw new IOException($"{path} (Tunnel2:{SettingKeys.ClusterCa}) cannot be used: {problem}");
}
