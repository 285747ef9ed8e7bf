using Tunnel2.ProxyEntry.Fronts.Tls;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Fronts.Tls;

public sealed class SelfMadeCertificatesTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("tunnel2-authority-").FullName;
    private readonly ManualTimeProvider _time = new();

    [Fact]
    public void A_name_has_one_certificate_until_it_is_about_to_end()
    {
        var certificates = Create();
        var first = certificates.Find("web.localhost");
        Assert.Same(first, certificates.Find("WEB.localhost"));
        Assert.NotSame(first, certificates.Find("api.localhost"));
        _time.Advance(TimeSpan.FromDays(59));
        Assert.Same(first, certificates.Find("web.localhost"));
        _time.Advance(TimeSpan.FromDays(2));
        Assert.NotSame(first, certificates.Find("web.localhost"));
    }

    [Theory]
    [InlineData(null)]
    [InlineData("")]
    [InlineData("localhost")]
    [InlineData("elsewhere.example")]
    [InlineData("a.web.localhost")]
    [InlineData("notlocalhost")]
    [InlineData(".localhost")]
    [InlineData("w_b.localhost")]
    public void All_else_shares_the_certificate_of_the_domain(string? name)
    {
        var certificates = Create();
        Assert.Same(certificates.Find("localhost"), certificates.Find(name));
        Assert.Equal(1, certificates.Count);
    }

    [Fact]
    public void Names_that_are_made_up_do_not_fill_the_memory()
    {
        var certificates = Create();
        for (var i = 0; i < SelfMadeCertificates.MaxKept + 10; i++)
        {
            certificates.Find($"name-{i}.localhost");
        }

        Assert.InRange(certificates.Count, 1, SelfMadeCertificates.MaxKept);
    }

    [Fact]
    public void An_authority_is_kept_until_it_is_about_to_end()
    {
        var first = LocalAuthority.FindOrCreate(_folder, "localhost", _time.GetUtcNow()).CertificatePath;
        var pem = File.ReadAllText(first);
        _time.Advance(TimeSpan.FromDays(9 * 365));
        LocalAuthority.FindOrCreate(_folder, "localhost", _time.GetUtcNow());
        Assert.Equal(pem, File.ReadAllText(first));
        _time.Advance(TimeSpan.FromDays(360));
        LocalAuthority.FindOrCreate(_folder, "localhost", _time.GetUtcNow());
        Assert.NotEqual(pem, File.ReadAllText(first));
        Assert.Equal(2, Directory.GetFiles(_folder).Length);
    }

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    private SelfMadeCertificates Create() => new(LocalAuthority.FindOrCreate(_folder, "localhost", _time.GetUtcNow()), "localhost", _time);
}
