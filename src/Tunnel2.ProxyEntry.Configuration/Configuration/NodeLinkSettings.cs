using System.Net;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>The settings of the links between the nodes of a cluster. Immutable.</summary>
internal sealed class NodeLinkSettings(SettingsReader read)
{
    /// <summary>The listener for other nodes; null: this server is no node of a cluster.</summary>
    public IPEndPoint? Listen { get; } = read.ListenOrOff(
        SettingKeys.ClusterListen, "off",
        "where other nodes of the cluster connect, always with TLS and certificates of the cluster; see [cluster](cluster.md)");

    private readonly string? _advertise = read.Value<string?>(
        SettingKeys.ClusterAdvertise, null, "host:port",
        "where other nodes reach `Cluster:Listen`. Needed when that address belongs to no single machine, such as `*:12004`",
        ParseAdvertise, inWords: "`Cluster:Listen`");

    private readonly string? _certificate = read.Text(
        SettingKeys.ClusterCertificate, "a file",
        "this node's certificate and key (PEM) for node links, of `tunnel2-entry cluster init`; read again when the file changes",
        inWords: "`cluster/{EntryId}.pem` in `StateFolder`");

    private readonly string? _authorities = read.Text(
        SettingKeys.ClusterCa, "a file",
        "the certificates (PEM) of the authorities that issue nodes' certificates: one, or two while they are changed; read again when "
        + "the file changes",
        inWords: "`cluster/ca.pem` in `StateFolder`");

    /// <summary>How long a link without requests stays open.</summary>
    public TimeSpan Idle { get; } = read.Duration(
        "Cluster:LinkIdle", "5m", "1s", "24h", "after how long without a request a link to another node is closed");

    /// <summary>This node's certificate. Only with <see cref="Listen"/>.</summary>
    public CertificateSource Certificate { get; private set; } = null!;

    /// <summary>The file of the authorities. Only with <see cref="Listen"/>.</summary>
    public string Authorities { get; private set; } = "";

    /// <summary>
    /// Where other nodes reach this one. Only with <see cref="Listen"/>; port 0 means the one that the system chose.
    /// </summary>
    public string Advertise { get; private set; } = "";

    /// <summary>Reports settings that contradict each other, and computes values that follow from several.</summary>
    /// <param name="read">Where mistakes go.</param>
    /// <param name="stateFolder">The state folder.</param>
    /// <param name="node">The node's id.</param>
    public void Check(SettingsReader read, string stateFolder, string node)
    {
        if (Listen is null || read.HasError(SettingKeys.ClusterListen))
        {
            return;
        }

        var folder = Path.Combine(stateFolder, Folder);
        Certificate = new CertificateSource(_certificate ?? Path.Combine(folder, node + ".pem"), null, null);
        Authorities = _authorities ?? Path.Combine(folder, AuthoritiesFile);
        foreach (var (key, path) in new[]
        {
            (SettingKeys.ClusterCertificate, Certificate.Path), (SettingKeys.ClusterCa, Authorities),
        })
        {
            if (SettingFile.FileMistake(path, $": 'tunnel2-entry cluster init --node {node}' makes it.") is { } mistake)
            {
                read.Report(key, $"{SettingsErrorFormatter.Quote(path)} {mistake}");
            }
        }

        if (_advertise is null && (Listen.Address.Equals(IPAddress.Any) || Listen.Address.Equals(IPAddress.IPv6Any)))
        {
            read.Report(
                SettingKeys.ClusterAdvertise, "is missing: other nodes have to know one address of this machine for Cluster:Listen.");
        }

        Advertise = _advertise ?? Listen.ToString();
    }

    /// <summary>The folder in the state folder for the files of <c>tunnel2-entry cluster init</c>.</summary>
    public const string Folder = "cluster";

    /// <summary>The file of the authorities there.</summary>
    public const string AuthoritiesFile = "ca.pem";

    /// <summary>Reads host:port.</summary>
    internal static string? ParseAdvertise(string text, out string? value)
    {
        value = text;
        var colon = text.LastIndexOf(':');
        return colon > 0
            && ushort.TryParse(text.AsSpan(colon + 1), System.Globalization.CultureInfo.InvariantCulture, out var port)
            && port != 0
            && Uri.CheckHostName(text[..colon]) != UriHostNameType.Unknown
            ? null
            : "is not host:port, such as 10.0.0.1:12004 or node1.example.com:12004.";
    }
}
