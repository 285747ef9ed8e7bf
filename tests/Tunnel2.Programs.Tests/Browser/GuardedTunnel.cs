using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.FunctionalTests.Uplinks.Security;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Browser;

/// <summary>
/// A tunnel that only some may visit, of a small tier, at a server with certificates of every state: for what the dashboard shows of them.
/// </summary>
internal sealed class GuardedTunnel : IDisposable
{
    /// <summary>What a visitor shows who may visit.</summary>
    public const string Right = "alice:secret";

    private const int CertificateRefused = 2267;

    private readonly TemporaryFolder _folder = new();
    private readonly TemporaryFolder _state = new();
    private readonly TestAuthority _authority = new();

    public GuardedTunnel()
    {
        Write("web.pem", "web.localhost", from: -80, to: 60);
        Write("shop.pem", "shop.localhost", from: -80, to: 5);
        Write("old.pem", "old.localhost", from: -90, to: -1);
        File.WriteAllText(_folder["broken.pem"], "no PEM at all");
        Setup = new TunnelSetup
        {
            Settings =
            [
                "Public:HttpsListen=127.0.0.1:0", "Public:CertificateFolder=" + _folder["."], "StateFolder=" + _state["state"],
                "Tiers:small:RequestsPerSecond=1", "Tiers:small:Burst=20",
                "Agents:a:TokenHash=" + EntryTokens.HashSetting("t"), "Agents:a:Tier=small",
            ],
            Agent = static options => options with
            {
                Token = "t",
                Access = new AccessRules
                {
                    Users = [new AccessUser("alice", PasswordHash.Create("secret", PasswordHash.LeastIterations))],
                },
            },
            Patience = DashboardPictures.Patience,
            ExpectedErrors = [CertificateRefused],
        };
    }

    public TunnelSetup Setup { get; }

    /// <summary>A request with a login, or without one.</summary>
    public static Task<(RawHttpHead Head, RawHttpBody Body)> ExchangeAsync(TunnelFixture tunnel, string target, string? login = Right) =>
        tunnel.ExchangeAsync(
            target,
            fields: login is null ? "" : $"Authorization: Basic {Convert.ToBase64String(Encoding.UTF8.GetBytes(login))}\r\n");

    public void Dispose()
    {
        _authority.Dispose();
        _folder.Dispose();
        _state.Dispose();
    }

    private void Write(string file, string name, int from, int to) =>
        File.WriteAllText(_folder[file], _authority.Issue(name, from: from, to: to));
}
